#include "areas.h"
#include "status.h"

namespace cudnn_rnn {
namespace {

// cublasStatus_t cublasGemmEx(cublasHandle_t handle, int opA, int opB, int m, int n, int k, const void* alpha,
//                             const void* a, int typeA, int lda, const void* b, int typeB, int ldb, const void* beta,
//                             void* c, int typeC, int ldc, int computeType, int algo)
// matrixProduct(session, opA, opB, m, n, k, a: Buffer, lda, b: Buffer, ldb, beta: number, c: Buffer, ldc, type,
//               computeType): void — column-major, as cuBLAS; alpha is 1, and all three matrices have one type
Napi::Value MatrixProduct(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const int op_a = args.Int();
  const int op_b = args.Int();
  const int m = args.Int();
  const int n = args.Int();
  const int k = args.Int();
  const BufferRef a = args.Read();
  const int lda = args.Int();
  const BufferRef b = args.Read();
  const int ldb = args.Int();
  const double beta = args.Double();
  const BufferRef c = args.Write();
  const int ldc = args.Int();
  const int type = args.Int();
  const int compute_type = args.Int();
  args.Enqueue([=](Worker& worker, Batch&) {
    constexpr int kDouble = 1;
    constexpr int kDefaultAlgorithm = -1;
    const double alpha = 1;
    const float alpha_float = 1;
    const auto beta_float = static_cast<float>(beta);
    const bool is_double = type == kDouble;
    const void* alpha_address = is_double ? static_cast<const void*>(&alpha) : &alpha_float;
    const void* beta_address = is_double ? static_cast<const void*>(&beta) : &beta_float;
    CheckCublas(worker.libraries,
                worker.libraries.cublas.cublasGemmEx(worker.cublas, op_a, op_b, m, n, k, alpha_address, a->at(), type,
                                                     lda, b->at(), type, ldb, beta_address, c->at(), type, ldc,
                                                     compute_type, kDefaultAlgorithm),
                "cublasGemmEx");
  });
  return args.env().Undefined();
}

}  // namespace

void InitMatrixProduct(Napi::Object exports) { Export<MatrixProduct>(exports, "matrixProduct"); }

}  // namespace cudnn_rnn
