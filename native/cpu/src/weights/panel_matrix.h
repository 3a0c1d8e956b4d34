// The places of a stored matrix's elements.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"

namespace cudnn_rnn {

// Chunks of a panel, at most: the number of an LSTM's gates. They are 16 vectors of 4, 8 of 8 or 4 of 16 lanes, the
// widths that the product kernels of every instruction set have a tile for. A chunk is one cache line (kernels.h), so a
// row of a panel is four consecutive lines and the prefetcher follows the depth.
inline constexpr int kPanelChunks = 4;

// The steps of a panel [depth, chunks], in elements.
template <typename T>
struct PanelStrides {
  ptrdiff_t row;    // between rows of the depth
  ptrdiff_t chunk;  // between chunks of a row

  PanelStrides(PanelOrder order, ptrdiff_t depth, ptrdiff_t chunks)
      : row(order == PanelOrder::kRows ? chunks * kChunk<T> : kChunk<T>),
        chunk(order == PanelOrder::kRows ? kChunk<T> : depth * kChunk<T>) {}

  ptrdiff_t ColumnAt(ptrdiff_t column) const { return column / kChunk<T> * chunk + column % kChunk<T>; }

  // Points a product at the rows of `panel` from `first_row` on. Elements of T, or of a quantized copy.
  template <typename Element>
  void Point(PanelProduct<T>* product, const Element* panel, ptrdiff_t first_row = 0) const {
    product->panel = panel + first_row * row;
    product->panel_stride = row;
    product->chunk_stride = chunk;
  }
};

// One matrix [outputs, depth] as a list of panels, the last of which may have fewer chunks.
struct PanelMatrix {
  ptrdiff_t offset = -1;  // -1: absent
  int number = 0;         // of the matrices in the opaque buffer
  ptrdiff_t depth = 0;
  ptrdiff_t panels = 0;
  int chunks = 0;
  int last_chunks = 0;
  PanelOrder order = PanelOrder::kRows;

  bool present() const { return offset >= 0; }
  int ChunksOf(ptrdiff_t panel) const { return panel == panels - 1 ? last_chunks : chunks; }
  template <typename T>
  ptrdiff_t PanelBegin(ptrdiff_t panel) const {
    return offset + panel * depth * chunks * kChunk<T>;
  }
  template <typename T>
  PanelStrides<T> StridesOf(ptrdiff_t panel) const {
    return {order, depth, ChunksOf(panel)};
  }
};

}  // namespace cudnn_rnn
