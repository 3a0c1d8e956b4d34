// The gradient of a matrix as one product over all rows of a pass, δW = Σ over steps and rows of δz·xᵀ.
//
// Step by step the sum would read and write the whole gradient T times. Here a tile of it stays in registers while
// kRowBlock rows pass by.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

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
  T* gradient;           // of the matrix
  T* packed;             // [PackedSize]
  T* rounded = nullptr;  // [RoundedSize of the panels]: both factors are rounded to bfloat16

  // A chunk more than is written: kernels that multiply by lanes load whole vectors past the last tile's end.
  static ptrdiff_t PackedSize(ptrdiff_t depth) { return depth * kRowBlock + kChunk<T>; }
  // A block of dz in pairs of rows.
  static ptrdiff_t RoundedSize(ptrdiff_t panels) { return panels * kRoundedPanel; }

  // Every thread must call this.
  void Run(SharedLoops::Member* all) const {
    if (kRoundsProducts && rounded != nullptr) return RunRounded(all);
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
  static constexpr ptrdiff_t kRoundedPanel = kRowBlock / 2 * 4 * kChunk<T>;

  // The same of rounded factors: all threads bring x and dz to the order of the products, then all multiply.
  void RunRounded(SharedLoops::Member* all) const {
    const Bfloat16Products<T>& rounding = kernels.bfloat16;
    const ptrdiff_t width = kTileGroup * kernels.tile_rows;
    const ptrdiff_t groups = DivideUp(matrix.depth, width);
    const auto columns_of = [&](ptrdiff_t group) { return std::min(width, matrix.depth - group * width); };
    auto* const words = reinterpret_cast<uint32_t*>(packed);
    auto* const pairs = reinterpret_cast<uint32_t*>(rounded);
    for (ptrdiff_t first = 0; first < rows; first += kRowBlock) {
      const ptrdiff_t count = std::min(kRowBlock, rows - first);
      // dz in the order of the matrix's panels, in which a row is as wide as the panel or as a chunk.
      const auto strides_of = [&](ptrdiff_t panel) {
        return PanelStrides<T>(matrix.order, DivideUp(count, 2), matrix.ChunksOf(panel));
      };
      all->Run(groups + matrix.panels, [&](ptrdiff_t item) {
        const ptrdiff_t panel = item - groups;
        if (panel < 0) {
          return rounding.copy_columns(x + first * x_stride + item * width, x_stride, count, columns_of(item),
                                       words + item * width * kRowBlock);
        }
        const PanelStrides<T> to = strides_of(panel);
        const T* from = dz + panel * dz_panel_stride + first * dz_stride;
        for (ptrdiff_t column = 0; column < matrix.ChunksOf(panel) * kChunk<T>; column += to.row)
          rounding.pairs(from + column, dz_stride, count, to.row, pairs + panel * kRoundedPanel + to.ColumnAt(column),
                         to.row);
      });
      all->Run(matrix.panels * groups, [&](ptrdiff_t item) {
        const ptrdiff_t panel = item / groups;
        const ptrdiff_t group = item % groups;
        const PanelStrides<T> from = strides_of(panel);
        const PanelStrides<T> to = matrix.StridesOf<T>(panel);
        RowsCopy copy{1, nullptr, nullptr, words + group * width * kRowBlock, false};
        PanelProduct<T> product{};
        product.rows = columns_of(group);
        product.depth = count;
        product.panel_stride = from.row;
        product.chunk_stride = from.chunk;
        product.chunks = static_cast<int>(from.row / kChunk<T>);
        product.rows_copy = &copy;
        product.version = copy.version;
        product.c_stride = product.init_stride = to.row;
        T* const c = gradient + panel * matrix.depth * matrix.chunks * kChunk<T> + group * width * to.row;
        for (ptrdiff_t column = 0; column < matrix.ChunksOf(panel) * kChunk<T>; column += from.row) {
          product.panel = pairs + panel * kRoundedPanel + from.ColumnAt(column);
          product.c = c + to.ColumnAt(column);
          // Blocks are added in order of the rows.
          product.init = first == 0 ? nullptr : product.c;
          rounding.product(product);
        }
      });
    }
  }

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
