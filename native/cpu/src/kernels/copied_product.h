// The matrix product over panels from a copy of its rows (RowsCopy in kernels.h). Included, after one vector_*.h, by
// the kernel files only.
#pragma once

#include "kernels/kernels.h"
#include "kernels/product_tile.h"
#include "kernels/tile_shapes.h"
#include "kernels/unroll.h"

namespace {

using namespace cudnn_rnn;

// Fewer rows are read in place: tiles of one and two rows are wider than a chunk.
inline constexpr ptrdiff_t kLeastCopiedRows = 4;

// kRows rows to [depth][rows].
template <int kRows, typename T>
static inline void CopyTile(const T* a, ptrdiff_t stride, ptrdiff_t depth, T* to) {
  for (ptrdiff_t k = 0; k < depth; k++, to += kRows) {
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kRows; i++) to[i] = a[i * stride + k];
  }
}

// c = init + a · panel from a copy of a, which is made for the first panel. All rows of a tile of the copy are read at
// constant distances from one pointer. A tile is as wide as a chunk and reads it in the order of the memory.
template <typename V, typename Weight>
static void ProductOfCopy(const PanelProduct<typename V::Element>& product) {
  using T = typename V::Element;
  constexpr int kRows = V::kCopyTileRows;
  PanelProduct<T> p = product;
  p.a = reinterpret_cast<const T*>(p.rows_copy->words);
  const ptrdiff_t tiles = (p.rows + kRows - 1) / kRows;
  const auto row_of = [&](ptrdiff_t tile) { return p.rows * tile / tiles; };
  if (p.rows_copy->version != p.version) {
    T* copy = reinterpret_cast<T*>(p.rows_copy->words);
    for (ptrdiff_t tile = 0; tile < tiles; tile++) {
      const ptrdiff_t row = row_of(tile);
      WithRows<1, kRows>(row_of(tile + 1) - row, [&](auto rows) {
        CopyTile<rows.kValue>(product.a + row * p.a_stride, p.a_stride, p.depth, copy + row * p.depth);
      });
    }
    p.rows_copy->version = p.version;
  }
  for (ptrdiff_t first = 0; first < tiles; first += kTilesAtOnce) {
    const ptrdiff_t last = Smaller(tiles, first + kTilesAtOnce);
    for (ptrdiff_t column = 0; column < p.chunks * kChunk<T>; column += kChunk<T>) {
      for (ptrdiff_t tile = first; tile < last; tile++) {
        const ptrdiff_t row = row_of(tile);
        WithRows<(kRows + 1) / 2, kRows>(row_of(tile + 1) - row, [&](auto rows) {
          ProductTile<V, Weight, rows.kValue, kVectorsOfChunk<V>, Operands::kCopy, false>(p, row, column, {});
        });
      }
    }
  }
}

}  // namespace
