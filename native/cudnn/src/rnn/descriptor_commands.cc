#include <algorithm>
#include <cmath>
#include <cstring>

#include "commands.h"

// Descriptors are set once, when they are made, and never changed: cuDNN locks nothing.

namespace cudnn_rnn {

// cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, int dtype, int rank, const int dims[],
//                                          const int strides[])
void SetTensorDescriptor::Run(Worker& worker, Batch&) const {
  // Shape of h and c, [L·D, B, H or P], fully packed, as cudnnRNNForward requires of hDesc and cDesc.
  const int dims[3] = {layers, this->batch, columns};
  const int strides[3] = {this->batch * columns, columns, 1};
  const TensorDescriptor& made = descriptor.Make(worker.libraries);
  CALL_CUDNN(worker.libraries, cudnnSetTensorNdDescriptor, made.get(), dtype, 3, dims, strides);
}

// cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t descriptor, int dtype, int layout, int maxSeqLength,
//                                         int batchSize, int vectorSize, const int seqLengthArray[], void* paddingFill)
void SetDataDescriptor::Run(Worker& worker, Batch&) const {
  // cuDNN writes this value to the padded steps of y. The pointer is to one element of the data type, in host memory; a
  // double is large enough for each type. With null, the contents of padded steps are undefined.
  double fill = 0;
  void* fill_address = nullptr;
  if (padding_fill.block) {
    std::memcpy(&fill, padding_fill.block->data, std::min(sizeof fill, padding_fill.bytes));
    fill_address = &fill;
  }
  // The lengths are in host memory here, and cuDNN copies them. The passes take them again in device memory
  // (devSeqLengths).
  const DataDescriptor& made = descriptor.Make(worker.libraries);
  CALL_CUDNN(worker.libraries, cudnnSetRNNDataDescriptor, made.get(), dtype, layout, max_seq_length, batch_size,
             vector_size, static_cast<const int*>(seq_length_array.block->data), fill_address);
}

// cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float rate,
//                                         void* states, size_t bytes, unsigned long long seed)
void SetDropoutDescriptor::Run(Worker& worker, Batch&) const {
  // Initializes the generator's states on the device by a kernel, the costly part of dropout. The seed passes through a
  // signed number, as JavaScript sends it in a double.
  const DropoutDescriptor& made = descriptor.Make(worker.libraries);
  CALL_CUDNN(worker.libraries, cudnnSetDropoutDescriptor, made.get(), worker.cudnn, static_cast<float>(rate),
             states->at(), states->bytes, static_cast<unsigned long long>(static_cast<long long>(seed)));
}

// cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t descriptor, int algo, int cellMode, int biasMode,
//                                        int dirMode, int inputMode, int dataType, int mathPrec, int mathType,
//                                        int32_t inputSize, int32_t hiddenSize, int32_t projSize, int32_t numLayers,
//                                        cudnnDropoutDescriptor_t dropout, uint32_t auxFlags)
// cudnnStatus_t cudnnRNNSetClip_v9(cudnnRNNDescriptor_t descriptor, int clipMode, double left, double right)
// cudnnStatus_t cudnnRNNSetClip_v8(cudnnRNNDescriptor_t descriptor, int clipMode, int nanOption, double left,
//                                  double right)
void SetRnnDescriptor::Run(Worker& worker, Batch&) const {
  const auto& cudnn = worker.libraries.cudnn;
  const RnnDescriptor& made = descriptor.Make(worker.libraries);
  CALL_CUDNN(worker.libraries, cudnnSetRNNDescriptor_v8, made.get(), algo, cell_mode, bias_mode, dir_mode, input_mode,
             data_type, math_prec, math_type, input_size, hidden_size, proj_size, num_layers, dropout.get(),
             static_cast<std::uint32_t>(aux_flags));
  // NaN stands for no clip. Clipping applies to the cell state of LSTMs only, wherever it is used: c' = f·clip(c) +
  // i·g, h' = o·tanh(clip(c')).
  if (std::isnan(clip)) return;
  constexpr int kMinMax = 1;
  constexpr int kPropagateNan = 1;
  // cuDNN 9 replaced the function by one without a NaN option.
  if (cudnn.cudnnRNNSetClip_v9 != nullptr) {
    CALL_CUDNN(worker.libraries, cudnnRNNSetClip_v9, made.get(), kMinMax, -clip, clip);
  } else {
    CALL_CUDNN(worker.libraries, cudnnRNNSetClip_v8, made.get(), kMinMax, kPropagateNan, -clip, clip);
  }
}

}  // namespace cudnn_rnn
