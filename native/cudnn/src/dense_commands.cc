#include <string>
#include <utility>

#include "commands.h"

namespace cudnn_rnn {

/// cublasStatus_t cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,
/// ldc, computeType, algo): C = alpha·op(A)·op(B) + beta·C. cuBLAS is column-major;
/// packages/cudnn/src/dense/matrix_products.ts swaps the operands for row-major tensors. C may not overlap A or B.
void MatrixProduct::Run(Worker& worker, Batch&) const {
  // CUDA_R_64F of cudaDataType_t, and CUBLAS_GEMM_DEFAULT of cublasGemmAlgo_t.
  constexpr int kDouble = 1;
  constexpr int kDefaultAlgorithm = -1;
  const double alpha = 1;
  const float alpha_float = 1;
  const auto beta_float = static_cast<float>(beta);
  const bool is_double = type_a == kDouble;
  // alpha and beta have the type of the computation: double for CUBLAS_COMPUTE_64F, float for all others here. In host
  // memory, cuBLAS's default pointer mode, and read during the call.
  const void* alpha_address = is_double ? static_cast<const void*>(&alpha) : &alpha_float;
  const void* beta_address = is_double ? static_cast<const void*>(&beta) : &beta_float;
  CheckCublas(worker.libraries,
              worker.libraries.cublas.cublasGemmEx(worker.cublas, op_a, op_b, m, n, k, alpha_address, a->at(), type_a,
                                                   lda, b->at(), type_a, ldb, beta_address, c->at(), type_a, ldc,
                                                   compute_type, kDefaultAlgorithm),
              "cublasGemmEx");
}

// CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name)
// CUresult cuModuleUnload(CUmodule module)
/// Loads the cubin or PTX of kernels/ into the context of this thread and looks up every kernel by its unmangled name
/// (extern "C"). The driver translates PTX here, which may take seconds. A failed load leaves the kernels as they were.
void LoadKernels::Run(Worker& worker, Batch&) const {
  const auto& driver = worker.libraries.driver;
  // A PTX image is read up to its terminating zero.
  std::vector<char> bytes(static_cast<const char*>(image.block->data),
                          static_cast<const char*>(image.block->data) + image.bytes);
  bytes.push_back(0);
  CUmodule module = nullptr;
  CheckDriver(worker.libraries, driver.cuModuleLoadData(&module, bytes.data()), "cuModuleLoadData");
  std::vector<CUfunction> functions;
  try {
    for (const KernelShape& kernel : Kernels()) {
      CUfunction function = nullptr;
      CheckDriver(worker.libraries, driver.cuModuleGetFunction(&function, module, kernel.name), "cuModuleGetFunction");
      functions.push_back(function);
    }
  } catch (...) {
    // The first failure is the one to report.
    driver.cuModuleUnload(module);
    throw;
  }
  worker.module = module;
  worker.kernels = std::move(functions);
  worker.has_double_scalars = is_double != 0;
}

/// The order of the parameters is that of the kernel's prototype; scripts/generate_commands.mjs compares both.
KernelParameters KernelParametersOf(CommandReader& reader, int kernel) {
  KernelParameters values;
  std::size_t scalars = 0;
  for (const KernelParameter parameter : Kernels().at(static_cast<std::size_t>(kernel)).parameters) {
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
