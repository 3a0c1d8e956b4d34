// The tiles of products whose instructions multiply several narrow elements of a row at once, from a copy of the rows.
// Included by the kernel files of those instructions only, each of which is compiled for its own.
#pragma once

#include <immintrin.h>
#include <stddef.h>

#include "kernels/kernels.h"

namespace {

using namespace cudnn_rnn;

inline constexpr ptrdiff_t kLanes = 16;
// 6 · 4 sums, 4 weights and the elements of a row are 29 of 32 registers.
inline constexpr int kMostTileRows = 6;

static inline __mmask16 LanesBelow(ptrdiff_t count) {
  return count >= kLanes ? 0xffff : static_cast<__mmask16>((1u << count) - 1);
}

// `rows` <= kRows of them: the number becomes a constant.
template <typename Tile, int kRows, int kChunks>
static void TileOfRows(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return TileOfRows<Tile, kRows - 1, kChunks>(p, row, rows);
  }
  Tile::template Multiply<kRows, kChunks>(p, row);
}

// All rows of a panel in tiles of equal height. Tile::Multiply<kRows, kChunks>(product, row) multiplies kRows rows from
// `row` on.
template <typename Tile, int kChunks>
static void TilesOfChunks(const PanelProduct<float>& p) {
  const ptrdiff_t tiles = (p.rows + kMostTileRows - 1) / kMostTileRows;
  for (ptrdiff_t tile = 0; tile < tiles; tile++) {
    const ptrdiff_t row = p.rows * tile / tiles;
    TileOfRows<Tile, kMostTileRows, kChunks>(p, row, p.rows * (tile + 1) / tiles - row);
  }
}

template <typename Tile>
static void Tiles(const PanelProduct<float>& p) {
  switch (p.chunks) {
    case 1:
      return TilesOfChunks<Tile, 1>(p);
    case 2:
      return TilesOfChunks<Tile, 2>(p);
    case 3:
      return TilesOfChunks<Tile, 3>(p);
    default:
      return TilesOfChunks<Tile, 4>(p);
  }
}

}  // namespace
