// How products of narrow elements cover a panel by tiles.
#pragma once

#include <stddef.h>

#include "kernels/kernels.h"
#include "kernels/unroll.h"

namespace {

using namespace cudnn_rnn;

// A panel in tiles of rows of equal height, as a tile of one row costs nearly as much as a full one, each by the widest
// tiles of so many rows, Tile::kTileVectors in vectors of kColumns columns, and one of the remainder:
// Tile::Multiply<kRows, kVectors>(product, row, column). Tiles begin at multiples of kUnit rows, and `rows` is a
// multiple of kStep.
template <int kColumns, typename Tile, int kUnit = 1, int kStep = 1>
static void DotTiles(const PanelProduct<float>& p, ptrdiff_t rows) {
  constexpr int kMostRows = sizeof Tile::kTileVectors / sizeof Tile::kTileVectors[0];
  const ptrdiff_t units = (rows + kUnit - 1) / kUnit;
  const ptrdiff_t tiles = (kUnit * units + kMostRows - 1) / kMostRows;
  const auto row_of = [&](ptrdiff_t tile) { return tile == tiles ? rows : kUnit * (units * tile / tiles); };
  WithChunks(p.chunks, [&](auto chunks) {
    constexpr int kPanel = static_cast<int>(chunks.kValue * kChunk<float> / kColumns);
    for (ptrdiff_t tile = 0; tile < tiles; tile++) {
      const ptrdiff_t row = row_of(tile);
      WithRows<1, kMostRows>(row_of(tile + 1) - row, [&](auto count) {
        constexpr int kRows = count.kValue;
        if constexpr (kRows % kStep == 0) {
          constexpr int kWidest = Tile::kTileVectors[kRows - 1];
          constexpr int kTile = kPanel < kWidest ? kPanel : kWidest;
          constexpr int kRest = kPanel % kTile;
          for (int first = 0; first + kTile <= kPanel; first += kTile)
            Tile::template Multiply<kRows, kTile>(p, row, first * kColumns);
          if constexpr (kRest > 0) Tile::template Multiply<kRows, kRest>(p, row, (kPanel - kRest) * kColumns);
        }
      });
    }
  });
}

}  // namespace
