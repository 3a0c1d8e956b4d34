#pragma once

// The types of NVIDIA's C interfaces that the symbol tables name. Handles and descriptors are opaque pointers, statuses
// and enumerations are ints: nothing here depends on the version of a header.

#include <cstddef>
#include <cstdint>

// CUDA runtime, CUDA driver, NVRTC, cuBLAS, NCCL and cuDNN, in this order. The enumerations of NVIDIA's headers have
// the size of int on all supported compilers.
using cudaError_t = int;
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
using cudaMemPool_t = struct CUmemPoolHandle_st*;

using CUresult = int;
using CUdevice = int;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = cudaStream_t;
struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  void* attrs;
  unsigned numAttrs;
};

using nvrtcResult = int;
// NVIDIA's name.
using nvrtcProgram = struct _nvrtcProgram*;  // NOLINT(bugprone-reserved-identifier)

using cublasStatus_t = int;
using cublasHandle_t = struct cublasContext*;

using ncclResult_t = int;
using ncclComm_t = struct ncclComm*;
struct ncclUniqueId {
  char internal[128];
};
// The first fields, as of version 2.14: later releases take the defaults for the others.
struct ncclConfig_t {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

using cudnnStatus_t = int;
using cudnnHandle_t = struct cudnnContext*;
using cudnnTensorDescriptor_t = struct cudnnTensorStruct*;
using cudnnDropoutDescriptor_t = struct cudnnDropoutStruct*;
using cudnnRNNDescriptor_t = struct cudnnRNNStruct*;
using cudnnRNNDataDescriptor_t = struct cudnnRNNDataStruct*;
using cudnnCTCLossDescriptor_t = struct cudnnCTCLossStruct*;

// Values that the native code itself needs; all others pass through from packages/cudnn/src/cudnn_enums.ts.
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum { cudaStreamNonBlocking = 1, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaStreamCaptureModeThreadLocal = 1, cudaMemPoolAttrReleaseThreshold = 4 };
enum { cudaErrorMemoryAllocation = 2, cudaErrorCudartUnloading = 4, cudaErrorNotReady = 600 };
enum { ncclSuccess = 0, ncclInProgress = 7 };
enum { cudaDevAttrMultiProcessorCount = 16, cudaDevAttrComputeCapabilityMajor = 75 };
enum { cudaDevAttrComputeCapabilityMinor = 76, cudaDevAttrMemoryPoolsSupported = 115 };
