#include <string>
#include <utility>

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

// CUresult cuModuleLoadData(CUmodule* module, const void* image)
// CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name)
void LoadModule(const Libraries& libraries, const Source& image, const std::vector<KernelShape>& kernels,
                KernelModule& module) {
  // A PTX image is read up to its terminating zero.
  std::vector<char> bytes(static_cast<const char*>(image.block->data),
                          static_cast<const char*>(image.block->data) + image.bytes);
  bytes.push_back(0);
  CALL_DRIVER(libraries, cuModuleLoadData, &module.module, bytes.data());
  for (const KernelShape& kernel : kernels) {
    CUfunction function = nullptr;
    CALL_DRIVER(libraries, cuModuleGetFunction, &function, module.module, kernel.name);
    module.functions.push_back(function);
  }
}

/// Loads the kernels of kernels/. A failed load leaves the kernels as they were.
void LoadKernels::Run(Worker& worker, Batch&) const {
  KernelModule loaded(worker.libraries);
  LoadModule(worker.libraries, image, Kernels(), loaded);
  worker.module = std::exchange(loaded.module, nullptr);
  worker.kernels = std::move(loaded.functions);
  worker.has_double_scalars = is_double != 0;
}

/// The parameters are in the order of the kernel's prototype; scripts/generate_commands.mjs compares both.
KernelParameters KernelParametersOf(CommandReader& reader, const KernelShape& kernel) {
  KernelParameters values;
  std::size_t scalars = 0;
  for (const KernelParameter parameter : kernel.parameters) {
    KernelValue value{};
    switch (parameter) {
      case KernelParameter::kIn:
        value.pointer = AddressOf(reader.In());
        break;
      case KernelParameter::kOptionalIn:
        value.pointer = AddressOf(reader.OptionalIn());
        break;
      case KernelParameter::kOut:
        value.pointer = AddressOf(reader.Out());
        break;
      case KernelParameter::kOptionalOut:
        value.pointer = AddressOf(reader.OptionalOut());
        break;
      case KernelParameter::kInOut:
        value.pointer = AddressOf(reader.InOut());
        break;
      case KernelParameter::kCount:
        value.count = static_cast<long long>(reader.Double());
        break;
      case KernelParameter::kScalar:
        scalars++;
        if (reader.has_double_scalars()) {
          value.real = reader.Scalar();
        } else {
          value.single = static_cast<float>(reader.Scalar());
        }
    }
    values.push_back(value);
  }
  // The last parameter, `live`: null outside a capture, when the kernel reads its parameters instead.
  if (scalars > 0) {
    KernelValue live{};
    live.pointer = reader.LiveScalars(scalars);
    values.push_back(live);
  }
  return values;
}

/// CUresult cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, params, extra).
/// The driver copies the parameters during the call, so they may live on this stack. Errors inside the kernel appear in
/// a later call.
void LaunchKernel::Run(Worker& worker, Batch&) const {
  std::vector<void*> addresses;
  // One address for each parameter; the driver takes its size from the module.
  for (const KernelValue& value : parameters) addresses.push_back(const_cast<KernelValue*>(&value));
  const auto index = static_cast<std::size_t>(kernel);
  CheckDriver(worker.libraries,
              worker.libraries.driver.cuLaunchKernel(worker.kernels.at(index), static_cast<unsigned>(blocks), 1, 1,
                                                     static_cast<unsigned>(threads), 1, 1, 0, worker.stream,
                                                     addresses.data(), nullptr),
              (std::string("cuLaunchKernel of ") + Kernels()[index].name).c_str());
}

}  // namespace cudnn_rnn
