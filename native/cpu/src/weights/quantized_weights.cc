#include "weights/quantized_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/bfloat16_rounding.h"

namespace cudnn_rnn {

// Matrices that stay in a second-level cache: of larger ones half the bytes are worth more than the instructions that
// widen them.
constexpr size_t kMostRoundedBytes = 1 << 20;

// Two passes over the matrices: the first assigns places, the second converts into one allocation.
QuantizedWeights::QuantizedWeights(const Network<float>& network, const float* params, WeightFormat format,
                                   bool keeps_rounded)
    : format_(format) {
  Measure(network);
  words_ = MemoryBlock(static_cast<size_t>(end_.words) * sizeof(uint32_t));
  // Bytes past the depth are zeros.
  if (IsInt8(format_)) std::memset(words_.data(), 0, words_.bytes());
  scales_.resize(end_.scales);
  column_sums_.resize(end_.column_sums);
  for (const PanelMatrix& matrix : matrices_) Convert(matrix, params);
  if (kRoundsProducts && format == WeightFormat::kBfloat16Products && keeps_rounded) Round(params);
}

QuantizedWeights::QuantizedWeights(const Network<float>& network, BlockCache* blocks)
    : format_(WeightFormat::kBfloat16Products), blocks_(blocks) {
  Measure(network);
  words_ = blocks_->Take(static_cast<size_t>(end_.words) * sizeof(uint32_t));
}

QuantizedWeights::~QuantizedWeights() {
  if (blocks_ != nullptr) blocks_->GiveBack(std::move(words_));
}

// Assigns places in the order of the opaque buffer. Rows of the depth are rounded up to whole words; the rest is zeros,
// which add nothing.
void QuantizedWeights::Measure(const Network<float>& network) {
  for (int pseudo_layer = 0; pseudo_layer < network.pseudo_layers(); pseudo_layer++) {
    const LayerLayout& layout = network.layer(pseudo_layer);
    for (const PanelMatrix& matrix : {layout.input, layout.recurrent, layout.projection}) {
      if (matrix.present()) matrices_.push_back(matrix);
    }
  }
  for (const PanelMatrix& matrix : matrices_) {
    places_.push_back({end_, SizeOf(matrix, matrix.chunks), DivideUp(matrix.depth, group_rows())});
    for (ptrdiff_t panel = 0; panel < matrix.panels; panel++) {
      const Place size = SizeOf(matrix, matrix.ChunksOf(panel));
      end_ = {end_.words + size.words, end_.scales + size.scales, end_.column_sums + size.column_sums};
    }
    items_ += matrix.panels;
  }
}

void QuantizedWeights::RoundPanel(const Bfloat16Products<float>& kernels, const float* params, ptrdiff_t item) const {
  auto matrix = matrices_.begin();
  for (; item >= matrix->panels; matrix++) item -= matrix->panels;
  ConvertToBfloat16(kernels.pairs, params, *matrix, item);
}

QuantizedWeights::Place QuantizedWeights::SizeOf(const PanelMatrix& matrix, int chunks) const {
  const ptrdiff_t width = chunks * kChunk<float>;
  const ptrdiff_t words = DivideUp(matrix.depth, rows_per_word()) * width;
  if (!IsInt8(format_)) return {words, 0, 0};
  return {words, width, DivideUp(matrix.depth, kInt8BlockRows) * width};
}

QuantizedWeights::Place QuantizedWeights::PlaceOf(const PanelMatrix& matrix, ptrdiff_t panel) const {
  const auto& [first, size, groups] = places_[matrix.number];
  return {first.words + panel * size.words, first.scales + panel * size.scales,
          first.column_sums + panel * size.column_sums};
}

void QuantizedWeights::Round(const float* params) {
  for (const PanelMatrix& matrix : matrices_) {
    const ptrdiff_t last = matrix.panels - 1;
    const ptrdiff_t size =
        matrix.PanelBegin<float>(last) - matrix.offset + matrix.depth * matrix.ChunksOf(last) * kChunk<float>;
    const size_t bytes = static_cast<size_t>(size) * sizeof(float);
    MemoryBlock& block = rounded_.emplace_back();
    if (bytes > kMostRoundedBytes) continue;
    block = MemoryBlock(bytes);
    auto* values = reinterpret_cast<float*>(block.data());
    for (ptrdiff_t k = 0; k < size; k++) values[k] = RoundedToBfloat16(params[matrix.offset + k]);
  }
}

// One matrix. Runs on the queue's thread, once for the life of the weights.
void QuantizedWeights::Convert(const PanelMatrix& matrix, const float* params) {
  for (ptrdiff_t panel = 0; panel < matrix.panels; panel++) {
    if (IsInt8(format_)) {
      ConvertToInt8(params + matrix.PanelBegin<float>(panel), matrix, panel, PlaceOf(matrix, panel));
    } else {
      ConvertToBfloat16(RoundPairs, params, matrix, panel);
    }
  }
}

void QuantizedWeights::ConvertToBfloat16(decltype(Bfloat16Products<float>::pairs) pairs, const float* params,
                                         const PanelMatrix& matrix, ptrdiff_t panel) const {
  const PanelStrides<float> from = matrix.StridesOf<float>(panel);
  const PanelStrides<float> to = StridesOf(matrix, panel);
  const float* source = params + matrix.PanelBegin<float>(panel);
  uint32_t* target = words() + PlaceOf(matrix, panel).words;
  // In the order of rows a row is as wide as the panel, else as a chunk.
  const ptrdiff_t width = matrix.ChunksOf(panel) * kChunk<float>;
  const ptrdiff_t part = from.row;
  for (ptrdiff_t column = 0; column < width; column += part)
    pairs(source + from.ColumnAt(column), from.row, matrix.depth, part, target + to.ColumnAt(column), to.row);
}

// Symmetric quantization per output column, w ≈ scale · q with q in -127…127: the scale leaves the sum, so the product
// is one of integers and a multiplication at its end.
void QuantizedWeights::ConvertToInt8(const float* source, const PanelMatrix& matrix, ptrdiff_t panel,
                                     const Place& place) {
  const ptrdiff_t width = matrix.ChunksOf(panel) * kChunk<float>;
  const PanelStrides<float> strides = matrix.StridesOf<float>(panel);
  const auto at = [&](ptrdiff_t k, ptrdiff_t column) { return source[k * strides.row + strides.ColumnAt(column)]; };
  std::vector<float> largest(width, 0.0f);
  for (ptrdiff_t k = 0; k < matrix.depth; k++) {
    for (ptrdiff_t column = 0; column < width; column++) {
      largest[column] = std::max(largest[column], std::fabs(at(k, column)));
    }
  }
  for (ptrdiff_t column = 0; column < width; column++) {
    // A column of zeros has scale 0, and its reciprocal is taken as 0 too, so its weights are 0 and not NaN.
    scales_[place.scales + column] = largest[column] / kInt8Limit;
    largest[column] = largest[column] > 0 ? kInt8Limit / largest[column] : 0;
  }
  const PanelStrides<float> groups = StridesOf(matrix, panel);
  auto* bytes = reinterpret_cast<uint8_t*>(words() + place.words);
  for (ptrdiff_t k = 0; k < matrix.depth; k++) {
    uint8_t* row = bytes + k / kInt8GroupRows * kInt8GroupRows * groups.row;
    int32_t* sums = &column_sums_[place.column_sums + k / kInt8BlockRows * width];
    for (ptrdiff_t column = 0; column < width; column++) {
      // |w| · 127 / max|w| rounds to at most 127: no clamp is needed.
      const auto weight = static_cast<int8_t>(std::lrintf(at(k, column) * largest[column]));
      // Σ q of each block, for the offset that makes the other factor unsigned (int8_dots_avx512.cc).
      sums[column] += weight;
      const ptrdiff_t in_chunk = column % kChunk<float>;
      uint8_t* group = row + kInt8GroupRows * groups.ColumnAt(column - in_chunk);
      group[Int8ByteOfGroup(k % kInt8GroupRows, in_chunk)] = StoredInt8(weight, in_chunk);
    }
  }
}

void QuantizedWeights::Point(PanelProduct<float>* product, const PanelMatrix& matrix, ptrdiff_t panel,
                             ptrdiff_t first_row) const {
  const Place place = PlaceOf(matrix, panel);
  StridesOf(matrix, panel).Point(product, words() + place.words, first_row / rows_per_word());
  if (!IsInt8(format_)) return;
  // For int8 a product covers the whole depth (Params::DepthBlock), so scales and sums are the panel's.
  product->scales = scales_.data() + place.scales;
  product->column_sums = column_sums_.data() + place.column_sums;
}

}  // namespace cudnn_rnn
