#include <algorithm>
#include <cmath>

#include "cublas/handle.h"
#include "cublas/scalar.h"

using namespace emulator;

namespace {

template <class T>
constexpr FloatType kType = sizeof(T) == 8 ? FloatType::kFloat64 : FloatType::kFloat32;

std::size_t Extent(int count, int step) {
  return static_cast<std::size_t>(count - 1) * static_cast<std::size_t>(step) + 1;
}

cublasStatus_t Queued(const CublasCall& call, Operation operation) {
  return Enqueue(call.stream, std::move(operation)) == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

template <class T>
cublasStatus_t Axpy(const char* name, const CublasCall& call, int n, const T* alpha, const T* x, int incx, T* y,
                    int incy) {
  if (n < 0 || incx < 1 || incy < 1 || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  const Scalar scale(*call.handle, kType<T>, alpha);
  Operation operation{.name = name};
  operation.accesses = {{x, Extent(n, incx) * sizeof(T), false}, {y, Extent(n, incy) * sizeof(T), true}};
  operation.run = [=](int device) {
    const T* from = ResolveArray(device, x, Extent(n, incx), "x");
    T* to = ResolveArray(device, y, Extent(n, incy), "y");
    const double a = scale.At(device);
    for (int i = 0; i < n; ++i) to[i * incy] = static_cast<T>(to[i * incy] + a * from[i * incx]);
  };
  return Queued(call, std::move(operation));
}

template <class T>
cublasStatus_t Scal(const char* name, const CublasCall& call, int n, const T* alpha, T* x, int incx) {
  if (n < 0 || incx < 1 || alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  const Scalar scale(*call.handle, kType<T>, alpha);
  Operation operation{.name = name, .accesses = {{x, Extent(n, incx) * sizeof(T), true}}};
  operation.run = [=](int device) {
    T* values = ResolveArray(device, x, Extent(n, incx), "x");
    for (int i = 0; i < n; ++i) values[i * incx] = static_cast<T>(scale.At(device) * values[i * incx]);
  };
  return Queued(call, std::move(operation));
}

template <class T>
cublasStatus_t Nrm2(const char* name, const CublasCall& call, int n, const T* x, int incx, T* result) {
  if (n < 0 || incx < 1 || result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const bool on_device = call.handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  Operation operation{.name = name};
  operation.accesses = {{x, n == 0 ? 1 : Extent(n, incx) * sizeof(T), false}};
  if (on_device) operation.accesses.push_back({result, sizeof(T), true});
  operation.run = [=](int device) {
    double sum = 0;
    if (n > 0) {
      const T* values = ResolveArray(device, x, Extent(n, incx), "x");
      for (int i = 0; i < n; ++i) sum += static_cast<double>(values[i * incx]) * values[i * incx];
    }
    *(on_device ? ResolveArray(device, result, 1, "result") : result) = static_cast<T>(std::sqrt(sum));
  };
  const cublasStatus_t status = Queued(call, std::move(operation));
  if (status != CUBLAS_STATUS_SUCCESS || on_device) return status;
  // A result on the host is there when the call returns.
  return Synchronize(call.stream) == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

// C = α·op(A) + β·op(B), column-major.
template <class T>
cublasStatus_t Geam(const char* name, const CublasCall& call, int op_a, int op_b, int m, int n, const T* alpha,
                    const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {
  const auto legal = [&](int op, int leading) { return leading >= std::max(1, op == CUBLAS_OP_N ? m : n); };
  if (m < 0 || n < 0 || !legal(op_a, lda) || !legal(op_b, ldb) || ldc < std::max(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  const auto extent = [m, n](int op, int leading) {
    const int rows = op == CUBLAS_OP_N ? m : n;
    const int columns = op == CUBLAS_OP_N ? n : m;
    return static_cast<std::size_t>(leading) * static_cast<std::size_t>(columns - 1) + static_cast<std::size_t>(rows);
  };
  const Scalar scale_a(*call.handle, kType<T>, alpha);
  const Scalar scale_b(*call.handle, kType<T>, beta);
  Operation operation{.name = name};
  operation.accesses = {{a, extent(op_a, lda) * sizeof(T), false},
                        {b, extent(op_b, ldb) * sizeof(T), false},
                        {c, extent(CUBLAS_OP_N, ldc) * sizeof(T), true}};
  operation.run = [=](int device) {
    const double x = scale_a.At(device);
    const double y = scale_b.At(device);
    const T* from_a = x == 0 ? nullptr : ResolveArray(device, a, extent(op_a, lda), "A");
    const T* from_b = y == 0 ? nullptr : ResolveArray(device, b, extent(op_b, ldb), "B");
    T* to = ResolveArray(device, c, extent(CUBLAS_OP_N, ldc), "C");
    const auto at = [](const T* from, int op, int leading, int row, int column) -> double {
      return op == CUBLAS_OP_N ? from[column * leading + row] : from[row * leading + column];
    };
    for (int column = 0; column < n; ++column) {
      for (int row = 0; row < m; ++row) {
        double sum = 0;
        if (from_a != nullptr) sum += x * at(from_a, op_a, lda, row, column);
        if (from_b != nullptr) sum += y * at(from_b, op_b, ldb, row, column);
        to[column * ldc + row] = static_cast<T>(sum);
      }
    }
  };
  return Queued(call, std::move(operation));
}

}  // namespace

#define VECTOR_OPERATIONS(letter, T)                                                                               \
  cublasStatus_t cublas##letter##axpy_v2(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, \
                                         int incy) {                                                               \
    CUBLAS_CALL(handle);                                                                                           \
    return Axpy(__func__, call, n, alpha, x, incx, y, incy);                                                       \
  }                                                                                                                \
  cublasStatus_t cublas##letter##scal_v2(cublasHandle_t handle, int n, const T* alpha, T* x, int incx) {           \
    CUBLAS_CALL(handle);                                                                                           \
    return Scal(__func__, call, n, alpha, x, incx);                                                                \
  }                                                                                                                \
  cublasStatus_t cublas##letter##nrm2_v2(cublasHandle_t handle, int n, const T* x, int incx, T* result) {          \
    CUBLAS_CALL(handle);                                                                                           \
    return Nrm2(__func__, call, n, x, incx, result);                                                               \
  }                                                                                                                \
  cublasStatus_t cublas##letter##geam CUBLAS_GEAM_PARAMETERS(T) {                                                  \
    CUBLAS_CALL(handle);                                                                                           \
    return Geam(__func__, call, opA, opB, m, n, alpha, a, lda, beta, b, ldb, c, ldc);                              \
  }
VECTOR_OPERATIONS(S, float)
VECTOR_OPERATIONS(D, double)
