#pragma once

// The part of cuBLAS that the emulator has: matrix products, and the few vector operations beside them.

#include <cstddef>
#include <cstdint>

#include "abi/export.h"

using cublasStatus_t = int;
using cublasHandle_t = struct cublasContext*;
using cublasStream_t = struct CUstream_st*;

enum : cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};
enum { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE };
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
enum {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};

#define CUBLAS_GEMM_PARAMETERS(T)                                                                                 \
  (cublasHandle_t handle, int opA, int opB, int m, int n, int k, const T* alpha, const T* a, int lda, const T* b, \
   int ldb, const T* beta, T* c, int ldc)
#define CUBLAS_BATCHED_PARAMETERS(T)                                                                           \
  (cublasHandle_t handle, int opA, int opB, int m, int n, int k, const T* alpha, const T* a, int lda,          \
   long long strideA, const T* b, int ldb, long long strideB, const T* beta, T* c, int ldc, long long strideC, \
   int count)
#define CUBLAS_GEAM_PARAMETERS(T)                                                                             \
  (cublasHandle_t handle, int opA, int opB, int m, int n, const T* alpha, const T* a, int lda, const T* beta, \
   const T* b, int ldb, T* c, int ldc)

// NVIDIA's header overloads these two in C++, for old callers.
#define CUBLAS_OVERLOADED_FUNCTIONS(FUNCTION)                                                                          \
  FUNCTION(cublasStatus_t, cublasGemmEx,                                                                               \
           (cublasHandle_t handle, int opA, int opB, int m, int n, int k, const void* alpha, const void* a, int typeA, \
            int lda, const void* b, int typeB, int ldb, const void* beta, void* c, int typeC, int ldc,                 \
            int computeType, int algo))                                                                                \
  FUNCTION(cublasStatus_t, cublasGemmStridedBatchedEx,                                                                 \
           (cublasHandle_t handle, int opA, int opB, int m, int n, int k, const void* alpha, const void* a, int typeA, \
            int lda, long long strideA, const void* b, int typeB, int ldb, long long strideB, const void* beta,        \
            void* c, int typeC, int ldc, long long strideC, int count, int computeType, int algo))

#define CUBLAS_FUNCTIONS(FUNCTION)      \
  CUBLAS_OVERLOADED_FUNCTIONS(FUNCTION) \
  CUBLAS_PLAIN_FUNCTIONS(FUNCTION)

#define CUBLAS_PLAIN_FUNCTIONS(FUNCTION)                                                                             \
  FUNCTION(cublasStatus_t, cublasCreate_v2, (cublasHandle_t * handle))                                               \
  FUNCTION(cublasStatus_t, cublasDestroy_v2, (cublasHandle_t handle))                                                \
  FUNCTION(cublasStatus_t, cublasGetVersion_v2, (cublasHandle_t handle, int* version))                               \
  FUNCTION(cublasStatus_t, cublasSetStream_v2, (cublasHandle_t handle, cublasStream_t stream))                       \
  FUNCTION(cublasStatus_t, cublasGetStream_v2, (cublasHandle_t handle, cublasStream_t * stream))                     \
  FUNCTION(cublasStatus_t, cublasSetWorkspace_v2, (cublasHandle_t handle, void* workspace, size_t bytes))            \
  FUNCTION(cublasStatus_t, cublasSetMathMode, (cublasHandle_t handle, int mode))                                     \
  FUNCTION(cublasStatus_t, cublasGetMathMode, (cublasHandle_t handle, int* mode))                                    \
  FUNCTION(cublasStatus_t, cublasSetPointerMode_v2, (cublasHandle_t handle, int mode))                               \
  FUNCTION(cublasStatus_t, cublasGetPointerMode_v2, (cublasHandle_t handle, int* mode))                              \
  FUNCTION(const char*, cublasGetStatusName, (cublasStatus_t status))                                                \
  FUNCTION(const char*, cublasGetStatusString, (cublasStatus_t status))                                              \
  FUNCTION(cublasStatus_t, cublasSgemm_v2, CUBLAS_GEMM_PARAMETERS(float))                                            \
  FUNCTION(cublasStatus_t, cublasDgemm_v2, CUBLAS_GEMM_PARAMETERS(double))                                           \
  FUNCTION(cublasStatus_t, cublasSgemmStridedBatched, CUBLAS_BATCHED_PARAMETERS(float))                              \
  FUNCTION(cublasStatus_t, cublasDgemmStridedBatched, CUBLAS_BATCHED_PARAMETERS(double))                             \
  FUNCTION(cublasStatus_t, cublasSgeam, CUBLAS_GEAM_PARAMETERS(float))                                               \
  FUNCTION(cublasStatus_t, cublasDgeam, CUBLAS_GEAM_PARAMETERS(double))                                              \
  FUNCTION(cublasStatus_t, cublasSaxpy_v2,                                                                           \
           (cublasHandle_t handle, int n, const float* alpha, const float* x, int incx, float* y, int incy))         \
  FUNCTION(cublasStatus_t, cublasDaxpy_v2,                                                                           \
           (cublasHandle_t handle, int n, const double* alpha, const double* x, int incx, double* y, int incy))      \
  FUNCTION(cublasStatus_t, cublasSscal_v2, (cublasHandle_t handle, int n, const float* alpha, float* x, int incx))   \
  FUNCTION(cublasStatus_t, cublasDscal_v2, (cublasHandle_t handle, int n, const double* alpha, double* x, int incx)) \
  FUNCTION(cublasStatus_t, cublasSnrm2_v2, (cublasHandle_t handle, int n, const float* x, int incx, float* result))  \
  FUNCTION(cublasStatus_t, cublasDnrm2_v2, (cublasHandle_t handle, int n, const double* x, int incx, double* result))

CUBLAS_FUNCTIONS(EMULATOR_PROTOTYPE)
