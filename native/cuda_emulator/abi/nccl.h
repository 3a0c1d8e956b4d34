#pragma once

// The part of NCCL that the emulator has: non-blocking communicators, the all-reduce, the broadcast, and groups of them.

#include <cstddef>

#include "abi/export.h"

using ncclResult_t = int;
using ncclComm_t = struct ncclComm*;
using ncclStream_t = struct CUstream_st*;
struct ncclUniqueId {
  char internal[128];
};
/// The fields of version 2.14.
struct ncclConfig_t {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

enum : ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};
enum { ncclInt32 = 2, ncclFloat32 = 7, ncclFloat64 = 8, ncclBfloat16 = 9 };
enum { ncclSum = 0, ncclMax = 2, ncclMin = 3 };

#define NCCL_FUNCTIONS(FUNCTION)                                                                                    \
  FUNCTION(ncclResult_t, ncclGetVersion, (int* version))                                                            \
  FUNCTION(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id))                                                      \
  FUNCTION(ncclResult_t, ncclCommInitRankConfig,                                                                    \
           (ncclComm_t * communicator, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config))                 \
  FUNCTION(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t communicator, ncclResult_t * error))                    \
  FUNCTION(ncclResult_t, ncclCommFinalize, (ncclComm_t communicator))                                               \
  FUNCTION(ncclResult_t, ncclCommDestroy, (ncclComm_t communicator))                                                \
  FUNCTION(ncclResult_t, ncclCommAbort, (ncclComm_t communicator))                                                  \
  FUNCTION(ncclResult_t, ncclAllReduce,                                                                             \
           (const void* from, void* to, size_t count, int type, int operation, ncclComm_t communicator,             \
            ncclStream_t stream))                                                                                   \
  FUNCTION(ncclResult_t, ncclBroadcast,                                                                             \
           (const void* from, void* to, size_t count, int type, int root, ncclComm_t communicator,                  \
            ncclStream_t stream))                                                                                   \
  FUNCTION(ncclResult_t, ncclGroupStart, ())                                                                        \
  FUNCTION(ncclResult_t, ncclGroupEnd, ())                                                                          \
  FUNCTION(const char*, ncclGetErrorString, (ncclResult_t result))                                                  \
  FUNCTION(const char*, ncclGetLastError, (ncclComm_t communicator))

NCCL_FUNCTIONS(EMULATOR_PROTOTYPE)
