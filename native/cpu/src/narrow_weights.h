// A copy of a network's parameters for inference with a half or a quarter of the bytes: matrices as bfloat16, or as int8
// with one scale per output column. Biases stay float32.
#ifndef CUDNN_RNN_CPU_NARROW_WEIGHTS_H_
#define CUDNN_RNN_CPU_NARROW_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "memory_block.h"
#include "network.h"

namespace cudnn_rnn {

class NarrowWeights {
 public:
  NarrowWeights(const Network<float>& network, const float* params, WeightFormat format);

  WeightFormat format() const { return format_; }
  // Both are indexed like the opaque buffer.
  const uint16_t* bfloat16() const { return reinterpret_cast<const uint16_t*>(weights_.data()); }
  const int8_t* int8() const { return reinterpret_cast<const int8_t*>(weights_.data()); }
  // The scales of the panel that begins at element `begin`.
  const float* scales(ptrdiff_t begin) const { return reinterpret_cast<const float*>(scales_.data()) + scale_of_[begin / kChunk<float>]; }

 private:
  void Convert(const PanelMatrix& matrix, const float* params);

  WeightFormat format_;
  MemoryBlock weights_;
  MemoryBlock scales_;
  std::vector<int32_t> scale_of_;  // by chunk of the opaque buffer: where the scales of a panel that begins there lie
  ptrdiff_t scales_used_ = 0;
};

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_NARROW_WEIGHTS_H_
