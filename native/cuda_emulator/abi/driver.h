#pragma once

// The part of CUDA's driver interface that the emulator has: devices, modules and kernel launches.

#include <cstddef>

#include "abi/export.h"

using CUresult = int;
using CUdevice = int;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  void* attrs;
  unsigned numAttrs;
};

struct CUuuid {
  char bytes[16];
};

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
  CUDA_ERROR_INVALID_CLUSTER_SIZE = 912,
};

#define DRIVER_FUNCTIONS(FUNCTION)                                                                                 \
  FUNCTION(CUresult, cuInit, (unsigned flags))                                                                     \
  FUNCTION(CUresult, cuDriverGetVersion, (int* version))                                                           \
  FUNCTION(CUresult, cuDeviceGet, (CUdevice * device, int ordinal))                                                \
  FUNCTION(CUresult, cuDeviceGetCount, (int* count))                                                               \
  FUNCTION(CUresult, cuDeviceGetName, (char* name, int length, CUdevice device))                                   \
  FUNCTION(CUresult, cuDeviceGetAttribute, (int* value, int attribute, CUdevice device))                           \
  FUNCTION(CUresult, cuDeviceTotalMem_v2, (size_t* bytes, CUdevice device))                                        \
  FUNCTION(CUresult, cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device))                                         \
  FUNCTION(CUresult, cuGetErrorName, (CUresult error, const char** text))                                          \
  FUNCTION(CUresult, cuGetErrorString, (CUresult error, const char** text))                                        \
  FUNCTION(CUresult, cuCtxGetCurrent, (CUcontext * context))                                                       \
  FUNCTION(CUresult, cuCtxSetCurrent, (CUcontext context))                                                         \
  FUNCTION(CUresult, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                             \
  FUNCTION(CUresult, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                              \
  FUNCTION(CUresult, cuModuleLoadData, (CUmodule * module, const void* image))                                     \
  FUNCTION(CUresult, cuModuleLoadDataEx,                                                                           \
           (CUmodule * module, const void* image, unsigned count, int* options, void** values))                    \
  FUNCTION(CUresult, cuModuleUnload, (CUmodule module))                                                            \
  FUNCTION(CUresult, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))              \
  FUNCTION(CUresult, cuFuncSetAttribute, (CUfunction function, int attribute, int value))                          \
  FUNCTION(CUresult, cuFuncGetAttribute, (int* value, int attribute, CUfunction function))                         \
  FUNCTION(CUresult, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                  \
           (int* blocks, CUfunction function, int threads, size_t sharedBytes))                                    \
  FUNCTION(CUresult, cuOccupancyMaxActiveClusters,                                                                 \
           (int* clusters, CUfunction function, const CUlaunchConfig* config))                                     \
  FUNCTION(CUresult, cuLaunchKernel,                                                                               \
           (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, \
            unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters, void** extra))               \
  FUNCTION(CUresult, cuLaunchCooperativeKernel,                                                                    \
           (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, \
            unsigned blockZ, unsigned sharedBytes, CUstream stream, void** parameters))

DRIVER_FUNCTIONS(EMULATOR_PROTOTYPE)
