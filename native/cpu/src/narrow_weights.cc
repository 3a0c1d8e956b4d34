#include "narrow_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cudnn_rnn {
namespace {

constexpr float kInt8Limit = 127;

// Rounds to the nearest bfloat16, ties to even; NaN stays NaN.
uint16_t ToBfloat16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if (x != x) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// One per column of every matrix.
size_t NumberOfScales(const Network<float>& network) {
  return static_cast<size_t>(network.pseudo_layers()) *
         static_cast<size_t>(2 * network.gates() * network.padded_units() + network.padded_columns());
}

}  // namespace

NarrowWeights::NarrowWeights(const Network<float>& network, const float* params, WeightFormat format)
    : format_(format),
      weights_(static_cast<size_t>(network.params_size()) * (format == WeightFormat::kBfloat16 ? 2 : 1)),
      scales_(format == WeightFormat::kInt8 ? NumberOfScales(network) * sizeof(float) : 0),
      scale_of_(format == WeightFormat::kInt8 ? network.params_size() / kChunk<float> + 1 : 0) {
  for (int pseudo_layer = 0; pseudo_layer < network.pseudo_layers(); pseudo_layer++) {
    const LayerLayout& layout = network.layer(pseudo_layer);
    for (const PanelMatrix* matrix : {&layout.input, &layout.recurrent, &layout.projection}) {
      if (matrix->present()) Convert(*matrix, params);
    }
  }
}

void NarrowWeights::Convert(const PanelMatrix& matrix, const float* params) {
  for (ptrdiff_t panel = 0; panel < matrix.panels; panel++) {
    const ptrdiff_t width = matrix.ChunksOf(panel) * kChunk<float>;
    const ptrdiff_t begin = matrix.offset + panel * matrix.depth * matrix.chunks * kChunk<float>;
    const float* source = params + begin;
    if (format_ == WeightFormat::kBfloat16) {
      uint16_t* target = reinterpret_cast<uint16_t*>(weights_.data()) + begin;
      for (ptrdiff_t k = 0; k < matrix.depth * width; k++) target[k] = ToBfloat16(source[k]);
      continue;
    }
    float* scales = reinterpret_cast<float*>(scales_.data()) + scales_used_;
    scale_of_[begin / kChunk<float>] = static_cast<int32_t>(scales_used_);
    scales_used_ += width;
    int8_t* target = reinterpret_cast<int8_t*>(weights_.data()) + begin;
    for (ptrdiff_t column = 0; column < width; column++) {
      float largest = 0;
      for (ptrdiff_t k = 0; k < matrix.depth; k++) largest = std::max(largest, std::fabs(source[k * width + column]));
      scales[column] = largest / kInt8Limit;
      const float factor = largest > 0 ? kInt8Limit / largest : 0;
      for (ptrdiff_t k = 0; k < matrix.depth; k++) {
        target[k * width + column] = static_cast<int8_t>(std::lrintf(source[k * width + column] * factor));
      }
    }
  }
}

}  // namespace cudnn_rnn
