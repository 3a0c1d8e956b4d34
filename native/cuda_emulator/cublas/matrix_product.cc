#include "numeric/matrix_product.h"

#include <algorithm>
#include <optional>

#include "cublas/handle.h"
#include "cublas/scalar.h"

using namespace emulator;

namespace {

// A column-major matrix in device memory, as stored: `rows` × `columns`, columns `leading` apart; one of a batch.
struct Stored {
  const void* data;
  FloatType type;
  int rows, columns, leading;
  long long stride;

  std::size_t Elements(int count) const {
    const auto one =
        static_cast<std::size_t>(leading) * static_cast<std::size_t>(columns - 1) + static_cast<std::size_t>(rows);
    return one + static_cast<std::size_t>(std::max(stride, 0ll)) * static_cast<std::size_t>(count - 1);
  }
  std::size_t Bytes(int count) const { return Elements(count) * SizeOf(type); }
};

struct Product {
  int m, n, k, op_a, op_b, count;
  Stored a, b, c;
};

std::optional<FloatType> TypeOf(int type) {
  switch (type) {
    case CUDA_R_32F: return FloatType::kFloat32;
    case CUDA_R_64F: return FloatType::kFloat64;
    case CUDA_R_16F: return FloatType::kFloat16;
    case CUDA_R_16BF: return FloatType::kBfloat16;
    default: return std::nullopt;
  }
}

// The type of α and β; nothing for a combination that cuBLAS does not have.
std::optional<FloatType> ScaleType(int compute, FloatType a, FloatType b, FloatType c) {
  const bool narrow = a == FloatType::kFloat16 || a == FloatType::kBfloat16;
  if (a != b) return std::nullopt;
  switch (compute) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return a == FloatType::kFloat64 && c == a ? std::optional(FloatType::kFloat64) : std::nullopt;
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return a == FloatType::kFloat16 && c == a ? std::optional(FloatType::kFloat16) : std::nullopt;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32: {
      const bool plain = a == FloatType::kFloat32 && c == a;
      const bool widening = narrow && (c == a || c == FloatType::kFloat32);
      return plain || widening ? std::optional(FloatType::kFloat32) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

void Run(int device, const Product& p, double alpha, double beta) {
  const auto load = [&](const Stored& stored, const char* what) {
    const void* data = Resolve(device, stored.data, stored.Bytes(p.count), what);
    return Load(stored.type, data, 0, stored.Elements(p.count));
  };
  const std::vector<double> a = p.k > 0 ? load(p.a, "A") : std::vector<double>();
  const std::vector<double> b = p.k > 0 ? load(p.b, "B") : std::vector<double>();
  void* const c = Resolve(device, p.c.data, p.c.Bytes(p.count), "C");
  const auto m = static_cast<std::size_t>(p.m);
  const auto n = static_cast<std::size_t>(p.n);
  std::vector<double> column(m);
  for (int i = 0; i < p.count; ++i) {
    // Column-major C = op(A)·op(B) is row-major Cᵀ = op(B)ᵀ·op(A)ᵀ.
    std::vector<double> product(m * n);
    if (p.k > 0) {
      AddProduct(n, m, static_cast<std::size_t>(p.k),
                 {b.data() + p.b.stride * i, static_cast<std::size_t>(p.b.leading), p.op_b != CUBLAS_OP_N},
                 {a.data() + p.a.stride * i, static_cast<std::size_t>(p.a.leading), p.op_a != CUBLAS_OP_N},
                 product.data(), m);
    }
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t first = static_cast<std::size_t>(p.c.stride * i) + j * static_cast<std::size_t>(p.c.leading);
      // With β = 0 what C held does not matter, not even NaN.
      if (beta == 0) {
        std::fill(column.begin(), column.end(), 0);
      } else {
        Load(p.c.type, c, first, m, column.data());
      }
      for (std::size_t row = 0; row < m; ++row) {
        column[row] = alpha * product[j * m + row] + (beta == 0 ? 0 : beta * column[row]);
      }
      Store(p.c.type, c, first, m, column.data());
    }
  }
}

cublasStatus_t Enqueue(const char* name, const CublasCall& call, const Product& p, FloatType scale, const void* alpha,
                       const void* beta) {
  const auto legal = [](const Stored& stored) { return stored.leading >= std::max(1, stored.rows); };
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.count < 0 || alpha == nullptr || beta == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!legal(p.a) || !legal(p.b) || !legal(p.c)) return CUBLAS_STATUS_INVALID_VALUE;
  if (p.m == 0 || p.n == 0 || p.count == 0) return CUBLAS_STATUS_SUCCESS;
  Operation operation{.name = name};
  if (p.k > 0) {
    operation.accesses.push_back({p.a.data, p.a.Bytes(p.count), false});
    operation.accesses.push_back({p.b.data, p.b.Bytes(p.count), false});
  }
  operation.accesses.push_back({p.c.data, p.c.Bytes(p.count), true});
  const Scalar a(*call.handle, scale, alpha);
  const Scalar b(*call.handle, scale, beta);
  operation.run = [p, a, b](int device) { Run(device, p, a.At(device), b.At(device)); };
  return emulator::Enqueue(call.stream, std::move(operation)) == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

Product MakeProduct(int op_a, int op_b, int m, int n, int k, const void* a, FloatType type_a, int lda,
                    long long stride_a, const void* b, FloatType type_b, int ldb, long long stride_b, void* c,
                    FloatType type_c, int ldc, long long stride_c, int count) {
  const bool plain_a = op_a == CUBLAS_OP_N;
  const bool plain_b = op_b == CUBLAS_OP_N;
  return {m,
          n,
          k,
          op_a,
          op_b,
          count,
          {a, type_a, plain_a ? m : k, plain_a ? k : m, lda, stride_a},
          {b, type_b, plain_b ? k : n, plain_b ? n : k, ldb, stride_b},
          {c, type_c, m, n, ldc, stride_c}};
}

cublasStatus_t Mixed(const char* name, const CublasCall& call, int op_a, int op_b, int m, int n, int k,
                     const void* alpha, const void* a, int type_a, int lda, long long stride_a, const void* b,
                     int type_b, int ldb, long long stride_b, const void* beta, void* c, int type_c, int ldc,
                     long long stride_c, int count, int compute) {
  const auto ta = TypeOf(type_a);
  const auto tb = TypeOf(type_b);
  const auto tc = TypeOf(type_c);
  if (!ta || !tb || !tc) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto scale = ScaleType(compute, *ta, *tb, *tc);
  if (!scale) return CUBLAS_STATUS_NOT_SUPPORTED;
  const Product product =
      MakeProduct(op_a, op_b, m, n, k, a, *ta, lda, stride_a, b, *tb, ldb, stride_b, c, *tc, ldc, stride_c, count);
  return Enqueue(name, call, product, *scale, alpha, beta);
}

}  // namespace

cublasStatus_t cublasGemmEx(cublasHandle_t handle, int opA, int opB, int m, int n, int k, const void* alpha,
                            const void* a, int typeA, int lda, const void* b, int typeB, int ldb, const void* beta,
                            void* c, int typeC, int ldc, int computeType, int) {
  CUBLAS_CALL(handle);
  return Mixed(__func__, call, opA, opB, m, n, k, alpha, a, typeA, lda, 0, b, typeB, ldb, 0, beta, c, typeC, ldc, 0, 1,
               computeType);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, int opA, int opB, int m, int n, int k,
                                          const void* alpha, const void* a, int typeA, int lda, long long strideA,
                                          const void* b, int typeB, int ldb, long long strideB, const void* beta,
                                          void* c, int typeC, int ldc, long long strideC, int count, int computeType,
                                          int) {
  CUBLAS_CALL(handle);
  return Mixed(__func__, call, opA, opB, m, n, k, alpha, a, typeA, lda, strideA, b, typeB, ldb, strideB, beta, c, typeC,
               ldc, strideC, count, computeType);
}

#define GEMM(letter, T, TYPE)                                                                                       \
  cublasStatus_t cublas##letter##gemm_v2 CUBLAS_GEMM_PARAMETERS(T) {                                                \
    CUBLAS_CALL(handle);                                                                                            \
    const Product product = MakeProduct(opA, opB, m, n, k, a, TYPE, lda, 0, b, TYPE, ldb, 0, c, TYPE, ldc, 0, 1);   \
    return Enqueue(__func__, call, product, TYPE, alpha, beta);                                                     \
  }                                                                                                                 \
  cublasStatus_t cublas##letter##gemmStridedBatched CUBLAS_BATCHED_PARAMETERS(T) {                                  \
    CUBLAS_CALL(handle);                                                                                            \
    const Product product =                                                                                         \
        MakeProduct(opA, opB, m, n, k, a, TYPE, lda, strideA, b, TYPE, ldb, strideB, c, TYPE, ldc, strideC, count); \
    return Enqueue(__func__, call, product, TYPE, alpha, beta);                                                     \
  }
GEMM(S, float, FloatType::kFloat32)
GEMM(D, double, FloatType::kFloat64)
