// A copy of a network's parameters for inference with a half or a quarter of the bytes: matrices as bfloat16, or as
// int8 with one scale per output column. Biases stay float32.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/int8_group.h"
#include "memory/block_cache.h"
#include "memory/memory_block.h"
#include "weights/divide_up.h"
#include "weights/network.h"

namespace cudnn_rnn {

class QuantizedWeights {
 public:
  // keeps_rounded: of kBfloat16Products, small matrices are kept as rounded float32 too.
  QuantizedWeights(const Network<float>& network, const float* params, WeightFormat format, bool keeps_rounded = false);
  // The places of kBfloat16Products, which RoundPanel fills. The memory is of `blocks` and returns there.
  QuantizedWeights(const Network<float>& network, BlockCache* blocks);
  ~QuantizedWeights();
  QuantizedWeights(const QuantizedWeights&) = delete;
  QuantizedWeights& operator=(const QuantizedWeights&) = delete;

  // Panels of all matrices, which can be rounded in parallel.
  ptrdiff_t items() const { return items_; }
  void RoundPanel(const Bfloat16Products<float>& kernels, const float* params, ptrdiff_t item) const;

  WeightFormat format() const { return format_; }

  // Points a product at the copy of a panel, from row `first_row` of the depth on: a multiple of 4, and 0 for int8,
  // whose scales and sums are of all rows.
  void Point(PanelProduct<float>* product, const PanelMatrix& matrix, ptrdiff_t panel, ptrdiff_t first_row) const;

  // The matrix as rounded float32 in the places of the parameters; null if it is not kept so.
  const float* RoundedOf(const PanelMatrix& matrix) const {
    return !kRoundsProducts || rounded_.empty() ? nullptr
                                                : reinterpret_cast<const float*>(rounded_[matrix.number].data());
  }

 private:
  // The places of a panel's parts, or their numbers.
  struct Place {
    ptrdiff_t words;
    ptrdiff_t scales;
    ptrdiff_t column_sums;
  };

  struct MatrixPlace {
    Place first;       // of its first panel
    Place size;        // of all panels but the last one
    ptrdiff_t groups;  // of the depth
  };

  // Assigns the places of all panels.
  void Measure(const Network<float>& network);
  void Convert(const PanelMatrix& matrix, const float* params);
  void Round(const float* params);
  void ConvertToBfloat16(decltype(Bfloat16Products<float>::pairs) pairs, const float* params, const PanelMatrix& matrix,
                         ptrdiff_t panel) const;
  void ConvertToInt8(const float* source, const PanelMatrix& matrix, ptrdiff_t panel, const Place& place);

  // The size of a panel of `chunks` chunks.
  Place SizeOf(const PanelMatrix& matrix, int chunks) const;
  Place PlaceOf(const PanelMatrix& matrix, ptrdiff_t panel) const;
  int rows_per_word() const { return IsInt8(format_) ? 4 : 2; }
  // Rows of the depth whose weights of a column are side by side.
  ptrdiff_t group_rows() const { return IsInt8(format_) ? kInt8GroupRows : rows_per_word(); }
  // The copy of a panel is a panel of groups of rows. In groups.
  PanelStrides<float> StridesOf(const PanelMatrix& matrix, ptrdiff_t panel) const {
    const bool in_rows = IsInt8(format_) && kInt8InRows;
    return {in_rows ? PanelOrder::kRows : matrix.order, places_[matrix.number].groups, matrix.ChunksOf(panel)};
  }
  uint32_t* words() const { return reinterpret_cast<uint32_t*>(words_.data()); }

  WeightFormat format_;
  BlockCache* blocks_ = nullptr;  // of the words, if it is shared
  Place end_{0, 0, 0};
  std::vector<PanelMatrix> matrices_;  // by number
  ptrdiff_t items_ = 0;
  std::vector<MatrixPlace> places_;  // by number of the matrix
  MemoryBlock words_;
  std::vector<MemoryBlock> rounded_;  // by number of the matrix, without data if it is large
  std::vector<float> scales_;
  std::vector<int32_t> column_sums_;
};

}  // namespace cudnn_rnn
