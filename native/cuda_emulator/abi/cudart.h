#pragma once

// The part of CUDA's runtime interface that the emulator has: types by size and kind, functions as one table.
// Every row keeps its signature from CUDA 11.4 to 13; abi/check_signatures.cc compares it with NVIDIA's header.

#include <cstddef>
#include <cstdint>

#include "abi/export.h"

using cudaError_t = int;
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
using cudaGraphNode_t = struct CUgraphNode_st*;
using cudaMemPool_t = struct CUmemPoolHandle_st*;
using cudaHostFn_t = void (*)(void* userData);

struct cudaPointerAttributes {
  int type;
  int device;
  void* devicePointer;
  void* hostPointer;
  long reserved[8];
};

enum : cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorCudartUnloading = 4,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorHostMemoryAlreadyRegistered = 712,
  cudaErrorHostMemoryNotRegistered = 713,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotSupported = 801,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureUnmatched = 903,
  cudaErrorStreamCaptureUnjoined = 904,
  cudaErrorStreamCaptureIsolation = 905,
  cudaErrorStreamCaptureImplicit = 906,
  cudaErrorCapturedEvent = 907,
  cudaErrorStreamCaptureWrongThread = 908,
  cudaErrorUnknown = 999,
};

enum {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};

#define CUDART_FUNCTIONS(FUNCTION)                                                                                  \
  FUNCTION(cudaError_t, cudaRuntimeGetVersion, (int* version))                                                      \
  FUNCTION(cudaError_t, cudaDriverGetVersion, (int* version))                                                       \
  FUNCTION(cudaError_t, cudaGetDeviceCount, (int* count))                                                           \
  FUNCTION(cudaError_t, cudaSetDevice, (int device))                                                                \
  FUNCTION(cudaError_t, cudaGetDevice, (int* device))                                                               \
  FUNCTION(cudaError_t, cudaDeviceGetAttribute, (int* value, int attribute, int device))                            \
  FUNCTION(cudaError_t, cudaDeviceGetPCIBusId, (char* id, int length, int device))                                  \
  FUNCTION(cudaError_t, cudaDeviceGetStreamPriorityRange, (int* least, int* greatest))                              \
  FUNCTION(cudaError_t, cudaDeviceCanAccessPeer, (int* can, int device, int peer))                                  \
  FUNCTION(cudaError_t, cudaDeviceEnablePeerAccess, (int peer, unsigned flags))                                     \
  FUNCTION(cudaError_t, cudaDeviceSynchronize, ())                                                                  \
  FUNCTION(cudaError_t, cudaGetLastError, ())                                                                       \
  FUNCTION(cudaError_t, cudaPeekAtLastError, ())                                                                    \
  FUNCTION(const char*, cudaGetErrorName, (cudaError_t error))                                                      \
  FUNCTION(const char*, cudaGetErrorString, (cudaError_t error))                                                    \
  FUNCTION(cudaError_t, cudaMemGetInfo, (size_t* free, size_t* total))                                              \
  FUNCTION(cudaError_t, cudaMalloc, (void** pointer, size_t bytes))                                                 \
  FUNCTION(cudaError_t, cudaFree, (void* pointer))                                                                  \
  FUNCTION(cudaError_t, cudaMallocAsync, (void** pointer, size_t bytes, cudaStream_t stream))                       \
  FUNCTION(cudaError_t, cudaMallocFromPoolAsync,                                                                    \
           (void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream))                                 \
  FUNCTION(cudaError_t, cudaFreeAsync, (void* pointer, cudaStream_t stream))                                        \
  FUNCTION(cudaError_t, cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device))                            \
  FUNCTION(cudaError_t, cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device))                                   \
  FUNCTION(cudaError_t, cudaMemPoolSetAttribute, (cudaMemPool_t pool, int attribute, void* value))                  \
  FUNCTION(cudaError_t, cudaMemPoolGetAttribute, (cudaMemPool_t pool, int attribute, void* value))                  \
  FUNCTION(cudaError_t, cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep))                                       \
  FUNCTION(cudaError_t, cudaMallocHost, (void** pointer, size_t bytes))                                             \
  FUNCTION(cudaError_t, cudaHostAlloc, (void** pointer, size_t bytes, unsigned flags))                              \
  FUNCTION(cudaError_t, cudaFreeHost, (void* pointer))                                                              \
  FUNCTION(cudaError_t, cudaHostRegister, (void* pointer, size_t bytes, unsigned flags))                            \
  FUNCTION(cudaError_t, cudaHostUnregister, (void* pointer))                                                        \
  FUNCTION(cudaError_t, cudaPointerGetAttributes, (cudaPointerAttributes * attributes, const void* pointer))        \
  FUNCTION(cudaError_t, cudaMemcpy, (void* to, const void* from, size_t bytes, int kind))                           \
  FUNCTION(cudaError_t, cudaMemcpyAsync, (void* to, const void* from, size_t bytes, int kind, cudaStream_t stream)) \
  FUNCTION(cudaError_t, cudaMemcpy2DAsync,                                                                          \
           (void* to, size_t toPitch, const void* from, size_t fromPitch, size_t width, size_t height, int kind,    \
            cudaStream_t stream))                                                                                   \
  FUNCTION(cudaError_t, cudaMemcpyPeerAsync,                                                                        \
           (void* to, int toDevice, const void* from, int fromDevice, size_t bytes, cudaStream_t stream))           \
  FUNCTION(cudaError_t, cudaMemset, (void* pointer, int value, size_t bytes))                                       \
  FUNCTION(cudaError_t, cudaMemsetAsync, (void* pointer, int value, size_t bytes, cudaStream_t stream))             \
  FUNCTION(cudaError_t, cudaStreamCreate, (cudaStream_t * stream))                                                  \
  FUNCTION(cudaError_t, cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags))                         \
  FUNCTION(cudaError_t, cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority))        \
  FUNCTION(cudaError_t, cudaStreamDestroy, (cudaStream_t stream))                                                   \
  FUNCTION(cudaError_t, cudaStreamSynchronize, (cudaStream_t stream))                                               \
  FUNCTION(cudaError_t, cudaStreamQuery, (cudaStream_t stream))                                                     \
  FUNCTION(cudaError_t, cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags))              \
  FUNCTION(cudaError_t, cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* data))               \
  FUNCTION(cudaError_t, cudaEventCreate, (cudaEvent_t * event))                                                     \
  FUNCTION(cudaError_t, cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags))                            \
  FUNCTION(cudaError_t, cudaEventRecord, (cudaEvent_t event, cudaStream_t stream))                                  \
  FUNCTION(cudaError_t, cudaEventQuery, (cudaEvent_t event))                                                        \
  FUNCTION(cudaError_t, cudaEventSynchronize, (cudaEvent_t event))                                                  \
  FUNCTION(cudaError_t, cudaEventElapsedTime, (float* milliseconds, cudaEvent_t start, cudaEvent_t end))            \
  FUNCTION(cudaError_t, cudaEventDestroy, (cudaEvent_t event))                                                      \
  FUNCTION(cudaError_t, cudaStreamBeginCapture, (cudaStream_t stream, int mode))                                    \
  FUNCTION(cudaError_t, cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t * graph))                           \
  FUNCTION(cudaError_t, cudaStreamIsCapturing, (cudaStream_t stream, int* status))                                  \
  FUNCTION(cudaError_t, cudaThreadExchangeStreamCaptureMode, (int* mode))                                           \
  FUNCTION(cudaError_t, cudaGraphInstantiateWithFlags,                                                              \
           (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags))                                   \
  FUNCTION(cudaError_t, cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t * nodes, size_t* count))             \
  FUNCTION(cudaError_t, cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream))                               \
  FUNCTION(cudaError_t, cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream))                               \
  FUNCTION(cudaError_t, cudaGraphExecDestroy, (cudaGraphExec_t exec))                                               \
  FUNCTION(cudaError_t, cudaGraphDestroy, (cudaGraph_t graph))

CUDART_FUNCTIONS(EMULATOR_PROTOTYPE)
