#include "commands.h"

// cudnnCTCLoss_v8 takes exactly the fields of its command: its call is in commands.h.

namespace cudnn_rnn {

// cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t descriptor, int computeType, int normMode,
//                                            int ctcGradMode, int maxLabelLength)
// cudnnStatus_t cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t descriptor, int computeType, int normMode,
//                                            int gradMode, int maxLabelLength)
void SetCtcLossDescriptor::Run(Worker& worker, Batch&) const {
  constexpr int kFloat = 0;
  constexpr int kSoftmax = 1;
  constexpr int kZeroGradients = 0;
  const auto& cudnn = worker.libraries.cudnn;
  const CtcLossDescriptor& made = descriptor.Make(worker.libraries);
  if (cudnn.cudnnSetCTCLossDescriptor_v9 != nullptr) {
    CALL_CUDNN(worker.libraries, cudnnSetCTCLossDescriptor_v9, made.get(), kFloat, kSoftmax, kZeroGradients,
               max_label_length);
  } else {
    CALL_CUDNN(worker.libraries, cudnnSetCTCLossDescriptor_v8, made.get(), kFloat, kSoftmax, kZeroGradients,
               max_label_length);
  }
}

// cudnnStatus_t cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, int algo, cudnnCTCLossDescriptor_t descriptor,
//                                               const cudnnTensorDescriptor_t probsDesc,
//                                               const cudnnTensorDescriptor_t gradientsDesc, size_t* bytes)
void CtcLossWorkspaceSize::Run(Worker& worker, Batch& batch) const {
  std::size_t bytes = 0;
  CALL_CUDNN(worker.libraries, cudnnGetCTCLossWorkspaceSize_v8, worker.cudnn, algo, descriptor.get(), probs_desc.get(),
             probs_desc.get(), &bytes);
  batch.results.push_back(static_cast<double>(bytes));
}

}  // namespace cudnn_rnn
