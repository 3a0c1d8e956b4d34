#include <algorithm>

#include "core/cudnn_objects.h"
#include "cudnn/status.h"
#include "cudnn/version.h"

using namespace emulator;

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  EMULATOR_ENTER(kCudnnHost);
  if (descriptor == nullptr) return kBadParam;
  *descriptor = TheCudnnTables().tensors.Add(std::make_shared<TensorDescriptor>());
  return kSuccess;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  EMULATOR_ENTER(kCudnnHost);
  if (descriptor == nullptr) return kSuccess;
  return TheCudnnTables().tensors.Remove(descriptor) == nullptr ? kBadParam : kSuccess;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, int dtype, int rank, const int dims[],
                                         const int strides[]) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] {
    const auto tensor = Live(TheCudnnTables().tensors, descriptor, "tensorDesc");
    const bool known = dtype == CUDNN_DATA_FLOAT || dtype == CUDNN_DATA_DOUBLE || dtype == CUDNN_DATA_HALF ||
                       dtype == CUDNN_DATA_BFLOAT16;
    Require(known, "dataType");
    Require(rank >= 2 && rank <= 8 && dims != nullptr && strides != nullptr, "nbDims");
    for (int i = 0; i < rank; ++i) {
      Require(dims[i] > 0, "dimA[i] <= 0");
      Require(strides[i] > 0 || dims[i] == 1, "strideA[i] <= 0");
    }
    tensor->dtype = dtype;
    tensor->dims.assign(dims, dims + rank);
    tensor->strides.assign(strides, strides + rank);
  });
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t descriptor, int room, int* dtype, int* rank,
                                         int dims[], int strides[]) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] {
    const auto tensor = Live(TheCudnnTables().tensors, descriptor, "tensorDesc");
    *dtype = tensor->dtype;
    *rank = static_cast<int>(tensor->dims.size());
    const int count = std::min(room, *rank);
    std::copy_n(tensor->dims.begin(), count, dims);
    std::copy_n(tensor->strides.begin(), count, strides);
  });
}

#if EMULATOR_CUDNN_MAJOR >= 9
cudnnStatus_t cudnnOpsVersionCheck() {
  EMULATOR_ENTER(kCudnnHost);
  return SublibraryVersion("cudnn_ops") == CudnnVersion() ? kSuccess : kVersionMismatch;
}
#else
cudnnStatus_t cudnnOpsInferVersionCheck() {
  EMULATOR_ENTER(kCudnnHost);
  return SublibraryVersion("cudnn_ops_infer") == CudnnVersion() ? kSuccess : kVersionMismatch;
}
#endif
