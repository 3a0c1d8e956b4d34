// The tiles of products whose instructions multiply several narrow elements of a row at once, from a copy of the rows.
// Included by the kernel files of those instructions only, each of which is compiled for its own.
#pragma once

#include <immintrin.h>
#include <stddef.h>

#include "kernels/kernels.h"
#include "kernels/unroll.h"

namespace {

using namespace cudnn_rnn;

inline constexpr ptrdiff_t kLanes = 16;

static inline __mmask16 LanesBelow(ptrdiff_t count) {
  return count >= kLanes ? 0xffff : static_cast<__mmask16>((1u << count) - 1);
}

// All rows of a panel in tiles of equal height. Tile::Multiply<kRows, kChunks>(product, row) multiplies kRows rows, at
// most Tile::kMostRows, from `row` on.
template <typename Tile>
static void Tiles(const PanelProduct<float>& p) {
  const ptrdiff_t tiles = (p.rows + Tile::kMostRows - 1) / Tile::kMostRows;
  WithChunks(p.chunks, [&](auto chunks) {
    for (ptrdiff_t tile = 0; tile < tiles; tile++) {
      const ptrdiff_t row = p.rows * tile / tiles;
      WithRows<1, Tile::kMostRows>(p.rows * (tile + 1) / tiles - row,
                                   [&](auto rows) { Tile::template Multiply<rows.kValue, chunks.kValue>(p, row); });
    }
  });
}

}  // namespace
