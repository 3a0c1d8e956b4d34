// The gradient of a matrix as one product over all rows of a pass, δW = Σ over steps and rows of δz·xᵀ.
//
// Step by step the sum would read and write the whole gradient T times. Here a tile of it stays in registers while
// kRowBlock rows pass by.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/kernels.h"
#include "threads/shared_loops.h"
#include "weights/divide_up.h"
#include "weights/network.h"

namespace cudnn_rnn {

// gradient, in panels as the matrix, = xᵀ [depth, rows] · dz [panels][rows][chunks]
template <typename T>
struct WeightGradient {
  // Rows summed at a time: their part of x fits the second-level cache.
  static constexpr ptrdiff_t kRowBlock = 256;
  // Tiles of x that a thread takes at a time.
  static constexpr ptrdiff_t kTileGroup = 16;

  const KernelTable<T>& kernels;
  PanelMatrix matrix;
  ptrdiff_t rows;
  const T* x;
  ptrdiff_t x_stride;
  const T* dz;
  ptrdiff_t dz_stride;
  ptrdiff_t dz_panel_stride;
  T* gradient;  // of the matrix
  T* packed;    // [PackedSize]

  // A chunk more than is written: kernels that multiply by lanes load whole vectors past the last tile's end.
  static ptrdiff_t PackedSize(ptrdiff_t depth) { return depth * kRowBlock + kChunk<T>; }

  // Every thread must call this.
  void Run(SharedLoops::Member* all) const {
    // Two loops per block of rows: all threads pack x, then all multiply. x is packed once and read by every panel.
    const ptrdiff_t tile = kernels.tile_rows;
    const ptrdiff_t tiles = DivideUp(matrix.depth, tile);
    const ptrdiff_t groups = DivideUp(tiles, kTileGroup);
    for (ptrdiff_t first = 0; first < rows; first += kRowBlock) {
      const ptrdiff_t count = std::min(kRowBlock, rows - first);
      all->Run(groups, [&](ptrdiff_t group) {
        for (ptrdiff_t t = group * kTileGroup; t < std::min(tiles, (group + 1) * kTileGroup); t++)
          Pack(t * tile, first, count);
      });
      all->Run(matrix.panels * groups, [&](ptrdiff_t item) {
        const ptrdiff_t panel = item / groups;
        const ptrdiff_t k = item % groups * kTileGroup * tile;
        const PanelStrides<T> strides = matrix.StridesOf<T>(panel);
        PanelProduct<T> product{};
        product.a = packed + k * count;
        product.rows = std::min(matrix.depth - k, kTileGroup * tile);
        product.depth = count;
        product.panel = dz + panel * dz_panel_stride + first * dz_stride;
        product.panel_stride = dz_stride;
        // All groups of a panel read the same dz; the last one prefetches the next panel's.
        const bool is_last = item % groups == groups - 1 && panel + 1 < matrix.panels;
        product.next = is_last ? dz + (panel + 1) * dz_panel_stride + first * dz_stride : nullptr;
        product.chunks = matrix.ChunksOf(panel);
        product.c = gradient + panel * matrix.depth * matrix.chunks * kChunk<T> + k * strides.row;
        product.c_stride = strides.row;
        product.c_chunk_stride = strides.chunk;
        // Blocks are added in order of the rows, by whichever thread: results do not depend on the number of threads.
        product.init = first == 0 ? nullptr : product.c;
        product.init_stride = strides.row;
        kernels.product_packed(product);
      });
    }
  }

 private:
  // x of the rows [first, first + count), columns from k on, as [count][columns of the tile].
  void Pack(ptrdiff_t k, ptrdiff_t first, ptrdiff_t count) const {
    const ptrdiff_t columns = std::min<ptrdiff_t>(kernels.tile_rows, matrix.depth - k);
    T* to = packed + k * count;
    const T* from = x + first * x_stride + k;
    for (ptrdiff_t row = 0; row < count; row++, from += x_stride) {
      for (ptrdiff_t column = 0; column < columns; column++) *to++ = from[column];
    }
  }
};

}  // namespace cudnn_rnn
