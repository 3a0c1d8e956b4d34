// A copy of a network's parameters for inference with a half or a quarter of the bytes: matrices as bfloat16, or as
// int8 with one scale per output column. Biases stay float32.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/memory_block.h"
#include "weights/network.h"

namespace cudnn_rnn {

class QuantizedWeights {
 public:
  QuantizedWeights(const Network<float>& network, const float* params, WeightFormat format);

  WeightFormat format() const { return format_; }

  // Points a product at the copy of a panel, from row `first_row` of the depth on: a multiple of 4, and 0 for int8,
  // whose scales and sums are of all rows.
  void Point(PanelProduct<float>* product, const PanelMatrix& matrix, ptrdiff_t panel, ptrdiff_t first_row) const;

 private:
  // Where the parts of a panel lie.
  struct Place {
    ptrdiff_t words;
    ptrdiff_t scales;
    ptrdiff_t column_sums;
  };

  // Assigns the places of a matrix's panels.
  void Measure(const PanelMatrix& matrix);
  void Convert(const PanelMatrix& matrix, const float* params);
  void ConvertToInt8(const float* source, const PanelMatrix& matrix, ptrdiff_t panel, const Place& place);

  const Place& PlaceOf(ptrdiff_t begin) const { return places_[place_of_[begin / kChunk<float>]]; }
  int rows_per_word() const { return format_ == WeightFormat::kBfloat16 ? 2 : 4; }
  // Rows of the depth whose weights of a column are side by side.
  ptrdiff_t group_rows() const;
  // The copy of a panel is in the order of the matrix, as a panel of groups of rows. In groups.
  PanelStrides<float> StridesOf(const PanelMatrix& matrix, ptrdiff_t panel) const {
    return {matrix.order, (matrix.depth + group_rows() - 1) / group_rows(), matrix.ChunksOf(panel)};
  }
  uint32_t* words() const { return reinterpret_cast<uint32_t*>(words_.data()); }

  WeightFormat format_;
  Place end_{0, 0, 0};
  std::vector<Place> places_;      // by panel
  std::vector<int32_t> place_of_;  // by chunk of the opaque buffer: the number of the panel that begins there
  MemoryBlock words_;
  std::vector<float> scales_;
  std::vector<int32_t> column_sums_;
};

}  // namespace cudnn_rnn
