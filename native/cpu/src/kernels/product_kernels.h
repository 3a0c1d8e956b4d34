// The matrix product over panels, c = init + a · panel. Included, after one vector_*.h, by the kernel files only.
//
// The loops, outermost first: blocks of rows and panels (the passes), tiles of rows, tiles across the panel, steps of
// the depth, registers. If a panel is stored chunk by chunk (PanelOrder::kChunks), the loop over tiles across the
// panel is outside the loop over tiles of rows. The innermost two are ProductTile (product_tile.h). The stages from a
// naive loop to this one, each with its time: docs/cpu_kernels.md.
#pragma once

#include "kernels/copied_product.h"
#include "kernels/kernels.h"
#include "kernels/product_tile.h"
#include "kernels/tile_shapes.h"

namespace {

using namespace cudnn_rnn;

// The tiles from number kTile on that are side by side over the panel, for kRows rows.
template <typename V, typename Weight, int kRows, int kPanelVectors, Operands kOperands, int kTile = 0>
static inline void TilesOfRows(const PanelProduct<typename V::Element>& p, ptrdiff_t row, Readahead* readahead) {
  constexpr int kTiles = TilesAcross<V>(kRows, kPanelVectors);
  constexpr int kFirst = TileBegin<V>(kTile, kTiles, kPanelVectors);
  constexpr int kVectors = TileBegin<V>(kTile + 1, kTiles, kPanelVectors) - kFirst;
  constexpr bool kNarrow = kHasPrefetch && kTiles > 1;
  ProductTile<V, Weight, kRows, kVectors, kOperands, kNarrow>(p, row, kFirst * V::kLanes, *readahead);
  readahead->position += p.depth * readahead->step_bytes;
  if constexpr (kTile + 1 < kTiles)
    TilesOfRows<V, Weight, kRows, kPanelVectors, kOperands, kTile + 1>(p, row, readahead);
}

// The gradient of the weights, xᵀ·dz, multiplies by columns of x. They are packed as the tile reads them, one row of
// the tile after another, so that a step reads consecutive elements instead of one from each of many cache lines. Rows
// of a packed tile: the same for every panel, so that one packing serves a last panel of fewer chunks too.
template <typename V>
inline constexpr int kPackedRows = TileRows<V>(PanelVectors<V>(4));

// The first row of tile number `tile` of equal tiles. Tiles of AVX2 of four rows have eight sums, the least that keep
// the multiply-add units at work, and reach nine tenths of the rate of others: two of them become one of five and one
// of three.
template <typename V>
static inline ptrdiff_t TileRow(ptrdiff_t rows, ptrdiff_t tiles, ptrdiff_t tile) {
  const ptrdiff_t row = rows * tile / tiles;
  if constexpr (kMaxTileRows<V> == 6 && V::kRegisters == 16) {
    if (tile % 2 == 1 && row - rows * (tile - 1) / tiles == 4 && rows * (tile + 1) / tiles - row == 4) return row + 1;
  }
  return row;
}

// The rows of the tiles [first, last) of `tiles`, kLeastRows to kRows each, by the chunks from tile number kTile across
// on.
template <typename V, typename Weight, int kLeastRows, int kRows, int kPanelVectors, int kTile = 0>
static inline void TilesOfChunks(const PanelProduct<typename V::Element>& p, ptrdiff_t tiles, ptrdiff_t first,
                                 ptrdiff_t last) {
  using T = typename V::Element;
  constexpr int kTiles = TilesAcross<V>(kRows, kPanelVectors);
  constexpr int kFirst = TileBegin<V>(kTile, kTiles, kPanelVectors);
  constexpr int kVectors = TileBegin<V>(kTile + 1, kTiles, kPanelVectors) - kFirst;
  constexpr bool kNarrow = kHasPrefetch && kTiles > 1;
  constexpr ptrdiff_t kColumn = kFirst * V::kLanes;
  Readahead readahead = ReadaheadOf<Weight>(p, tiles, kColumn / kChunk<T> * p.chunk_stride, kVectors * V::kLanes);
  readahead.position += first * p.depth * readahead.step_bytes;
  for (ptrdiff_t tile = first; tile < last; tile++) {
    const ptrdiff_t row = TileRow<V>(p.rows, tiles, tile);
    WithRows<kLeastRows, kRows>(TileRow<V>(p.rows, tiles, tile + 1) - row, [&](auto rows) {
      ProductTile<V, Weight, rows.kValue, kVectors, Operands::kRows, kNarrow>(p, row, kColumn, readahead);
    });
    readahead.position += p.depth * readahead.step_bytes;
  }
  if constexpr (kTile + 1 < kTiles) {
    TilesOfChunks<V, Weight, kLeastRows, kRows, kPanelVectors, kTile + 1>(p, tiles, first, last);
  }
}

template <typename V, typename Weight, int kChunks, Operands kOperands>
static void ProductOfChunks(const PanelProduct<typename V::Element>& p) {
  constexpr int kVectors = PanelVectors<V>(kChunks);
  constexpr int kRows = kInTiles<kOperands> ? kPackedRows<V> : TileRows<V>(kVectors);
  const ptrdiff_t tiles = (p.rows + kRows - 1) / kRows;
  if constexpr (kReadsChunks<V, kOperands>) {
    // The tiles across the panel are the wider the fewer rows the one tile of rows has.
    if (tiles <= 1) {
      return WithRows<1, kRows>(
          p.rows, [&](auto rows) { TilesOfChunks<V, Weight, rows.kValue, rows.kValue, kVectors>(p, 1, 0, 1); });
    }
    // kRows + 1 rows are split into two tiles; the lower one has (kRows + 1) / 2.
    for (ptrdiff_t first = 0; first < tiles; first += kTilesAtOnce) {
      const ptrdiff_t last = Smaller(tiles, first + kTilesAtOnce);
      TilesOfChunks<V, Weight, (kRows + 1) / 2, kRows, kVectors>(p, tiles, first, last);
    }
  } else {
    Readahead readahead = ReadaheadOf<Weight>(p, tiles * TilesAcross<V>(kRows, kVectors), 0, p.panel_stride);
    for (ptrdiff_t tile = 0; tile < tiles; tile++) {
      // Packed rows lie in tiles of kRows, the last one of the rest. Else tiles of equal height, as a tile of one row
      // costs nearly as much as a full one.
      const ptrdiff_t row = kInTiles<kOperands> ? tile * kRows : p.rows * tile / tiles;
      const ptrdiff_t end = kInTiles<kOperands> ? p.rows : p.rows * (tile + 1) / tiles;
      WithRows<1, kRows>(
          end - row, [&](auto rows) { TilesOfRows<V, Weight, rows.kValue, kVectors, kOperands>(p, row, &readahead); });
    }
  }
}

template <typename V, typename Weight, Operands kOperands>
static void Product(const PanelProduct<typename V::Element>& p) {
  if constexpr (V::kCopyTileRows > 0 && kOperands == Operands::kRows && !kHasScales<Weight>) {
    if (p.rows_copy != nullptr && p.rows >= kLeastCopiedRows) return ProductOfCopy<V, Weight>(p);
  }
  WithChunks(p.chunks, [&](auto chunks) { ProductOfChunks<V, Weight, chunks.kValue, kOperands>(p); });
}

}  // namespace
