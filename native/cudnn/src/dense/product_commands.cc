#include "commands.h"

namespace cudnn_rnn {

namespace {

// CUBLAS_GEMM_DEFAULT of cublasGemmAlgo_t.
constexpr int kDefaultAlgorithm = -1;

/// alpha and beta have the type of the computation: double for CUBLAS_COMPUTE_64F, float for all others here. In host
/// memory, cuBLAS's default pointer mode, and read during the call.
class Factor {
 public:
  Factor(double value, int type) : double_(value), float_(static_cast<float>(value)), is_double_(type == kDouble) {}
  const void* address() const { return is_double_ ? static_cast<const void*>(&double_) : &float_; }

 private:
  // CUDA_R_64F of cudaDataType_t.
  static constexpr int kDouble = 1;
  double double_;
  float float_;
  bool is_double_;
};

}  // namespace

/// cublasStatus_t cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,
/// ldc, computeType, algo): C = alpha·op(A)·op(B) + beta·C. cuBLAS is column-major;
/// packages/cudnn/src/dense/matrix_products.ts swaps the operands for row-major tensors. C may not overlap A or B.
void MatrixProduct::Run(Worker& worker, Batch&) const {
  const Factor alpha(1, type_a), old(beta, type_a);
  CALL_CUBLAS(worker.libraries, cublasGemmEx, worker.cublas, op_a, op_b, m, n, k, alpha.address(), a->at(a_offset),
              type_a, lda, b->at(b_offset), type_a, ldb, old.address(), c->at(c_offset), type_c, ldc, compute_type,
              kDefaultAlgorithm);
}

/// cublasStatus_t cublasGemmStridedBatchedEx: as cublasGemmEx, for matrices at even distances.
void MatrixProducts::Run(Worker& worker, Batch&) const {
  const Factor alpha(1, type_a), beta(0, type_a);
  CALL_CUBLAS(worker.libraries, cublasGemmStridedBatchedEx, worker.cublas, op_a, op_b, m, n, k, alpha.address(),
              a->at(), type_a, lda, static_cast<long long>(stride_a), b->at(), type_a, ldb,
              static_cast<long long>(stride_b), beta.address(), c->at(), type_a, ldc, static_cast<long long>(stride_c),
              batch_count, compute_type, kDefaultAlgorithm);
}

}  // namespace cudnn_rnn
