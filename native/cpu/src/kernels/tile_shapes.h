// Which tiles of a product stay in a processor's registers. Included by the kernel files only.
//
// A product is made of tiles in the manner of Goto and van de Geijn 2008, "Anatomy of High-Performance Matrix
// Multiplication", and of BLIS's micro-kernels (https://github.com/flame/blis/blob/master/docs/KernelsHowTo.md). Each
// step of the depth loads rows + vectors operands and does rows · vectors multiply-adds, so a tile that is nearly
// square loads least per multiply-add. The registers bound its size: 16 of AVX2 hold 6 x 2, 32 of AVX-512 and NEON hold
// 6 x 4. A tile that takes one more spills a sum to the stack at every step, which costs more than it saves:
// scripts/checks/check_hot_loops.mjs fails if one does.
//
// A tile is `rows` rows of a times `vectors` adjacent vectors of the panel, summed in registers over the whole
// depth. It takes rows · vectors registers for the sums, and one operand's while the other passes by: min(rows,
// vectors) + 1. A vector_*.h names the widest tile of every number of rows as `kTileVectors`, within its `kRegisters`.
#pragma once

#include "kernels/kernels.h"

namespace {

using namespace cudnn_rnn;

template <typename V>
inline constexpr int kMaxTileRows = sizeof V::kTileVectors / sizeof V::kTileVectors[0];

template <typename V>
inline constexpr int kVectorsOfChunk = static_cast<int>(kChunk<typename V::Element> / V::kLanes);

// Vectors of a panel of `chunks` chunks.
template <typename V>
constexpr int PanelVectors(int chunks) {
  return chunks * kVectorsOfChunk<V>;
}

// Tiles side by side over a panel's width.
template <typename V>
constexpr int TilesAcross(int rows, int panel_vectors) {
  return (panel_vectors + V::kTileVectors[rows - 1] - 1) / V::kTileVectors[rows - 1];
}

// The first vector of tile number `tile` of them. If chunks are apart, a tile has whole chunks.
template <typename V>
constexpr int TileBegin(int tile, int tiles, int panel_vectors) {
  constexpr int kUnit = V::kPanelOrder == PanelOrder::kChunks ? kVectorsOfChunk<V> : 1;
  return panel_vectors / kUnit * tile / tiles * kUnit;
}

template <typename V>
constexpr bool TilesFit() {
  for (int rows = 1; rows <= kMaxTileRows<V>; rows++) {
    const int vectors = V::kTileVectors[rows - 1];
    if (V::kPanelOrder == PanelOrder::kChunks && vectors % kVectorsOfChunk<V> != 0) return false;
    // With multiply-by-lane instructions the rows are held and the weights pass by.
    const int held = V::kMultipliesLanes || rows < vectors ? rows : vectors;
    if (rows * vectors + held + 1 > V::kRegisters) return false;
  }
  return true;
}

// Steps of the depth that a tile sums apart, in further registers: a multiply-add waits about four cycles for the one
// before on the same sum, and two begin each cycle, so fewer than eight sums would leave the units idle.
inline constexpr int kLeastSums = 8;

template <typename V>
constexpr int TileSplit(int sums) {
  int split = 1;
  while (split < 4 && sums * split < kLeastSums && 2 * split * sums + 2 <= V::kRegisters) split *= 2;
  return split;
}

// Rows of the tiles that cover a panel with the fewest bytes loaded per multiply-add. Weights count twice: a's part of
// a tile stays in the first-level cache, the panel comes from the second at half the rate. Tiles of too few sums are
// left out.
template <typename V>
constexpr int TileRows(int panel_vectors) {
  static_assert(TilesFit<V>(), "a tile of kTileVectors needs more than kRegisters, or divides a chunk");
  int best = 1;
  double least = 1e9;
  for (int rows = 1; rows <= kMaxTileRows<V>; rows++) {
    const int across = TilesAcross<V>(rows, panel_vectors);
    const int narrowest = rows * (panel_vectors / across);
    if (narrowest * TileSplit<V>(narrowest) < kLeastSums) continue;
    const double vectors = static_cast<double>(panel_vectors) / across;
    const double loads = (rows + 2 * vectors) / (rows * vectors);
    if (loads <= least) {
      least = loads;
      best = rows;
    }
  }
  return best;
}

}  // namespace
