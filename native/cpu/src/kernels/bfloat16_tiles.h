// Products of bfloat16 weights and rows in the tile registers of AMX: TDPBF16PS multiplies 16 rows by 16 columns over
// 16 pairs of the depth, 8,192 multiplications and additions in an instruction (Intel Intrinsics Guide,
// _tile_dpbf16ps).
//
// A tile of weights is 16 lines of a panel of Bfloat16Pairs in the order of rows. A tile of rows is 16 lines of the
// copy that has the rows in pairs. This file is included after the intrinsics, or after their emulation in a test.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/bfloat16_rounding.h"
#include "kernels/kernels.h"
#include "kernels/unroll.h"

namespace {

using namespace cudnn_rnn;

inline constexpr ptrdiff_t kTileRows = 16;
inline constexpr ptrdiff_t kTileWords = 16;  // in a line of a tile
inline constexpr ptrdiff_t kTileBytes = 4 * kTileWords;

// The operand of LDTILECFG: Intel SDM vol. 1, 18.3.
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t line_bytes[16] = {};
  uint8_t lines[16] = {};

  // Tiles 0 to 3 are sums, 4 rows and 5 to 7 weights.
  explicit TileShapes(int rows) {
    for (int tile = 0; tile < 8; tile++) {
      line_bytes[tile] = static_cast<uint16_t>(kTileBytes);
      lines[tile] = static_cast<uint8_t>(tile < 5 ? rows : kTileRows);
    }
  }
};

// Adds the products of a tile of rows and a tile of weights for each chunk; strides in words.
template <int kChunks>
static void AddTiles(const uint32_t* rows, ptrdiff_t row_words, const uint32_t* weights, ptrdiff_t line_words) {
  _tile_loadd(4, rows, 4 * row_words);
  _tile_loadd(5, weights, 4 * line_words);
  _tile_dpbf16ps(0, 4, 5);
  if constexpr (kChunks > 1) {
    _tile_loadd(6, weights + kTileWords, 4 * line_words);
    _tile_dpbf16ps(1, 4, 6);
  }
  if constexpr (kChunks > 2) {
    _tile_loadd(7, weights + 2 * kTileWords, 4 * line_words);
    _tile_dpbf16ps(2, 4, 7);
  }
  if constexpr (kChunks > 3) {
    _tile_loadd(5, weights + 3 * kTileWords, 4 * line_words);
    _tile_dpbf16ps(3, 4, 5);
  }
}

// sums [16][4 chunks] of `count` rows, at most 16, from their copy in `pairs` words each.
template <int kChunks>
static void MultiplyTiles(const uint32_t* rows, int count, ptrdiff_t pairs, const uint32_t* panel,
                          ptrdiff_t panel_stride, float* sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const ptrdiff_t whole = pairs / kTileWords * kTileWords;
  for (ptrdiff_t k = 0; k < whole; k += kTileWords)
    AddTiles<kChunks>(rows + k, pairs, panel + k * panel_stride, panel_stride);
  if (whole < pairs) {
    // Shapes cannot change while there are sums: the rest of the depth is filled up with zeros.
    alignas(64) uint32_t last_rows[kTileRows][kTileWords] = {};
    alignas(64) uint32_t last_weights[kTileRows][4 * kTileWords] = {};
    for (ptrdiff_t row = 0; row < count; row++)
      memcpy(last_rows[row], rows + row * pairs + whole, 4 * static_cast<size_t>(pairs - whole));
    for (ptrdiff_t k = whole; k < pairs; k++)
      memcpy(last_weights[k - whole], panel + k * panel_stride, kTileBytes * kChunks);
    AddTiles<kChunks>(last_rows[0], kTileWords, last_weights[0], 4 * kTileWords);
  }
  const ptrdiff_t line = 4 * kTileBytes;
  _tile_stored(0, sums, line);
  if constexpr (kChunks > 1) _tile_stored(1, sums + kTileWords, line);
  if constexpr (kChunks > 2) _tile_stored(2, sums + 2 * kTileWords, line);
  if constexpr (kChunks > 3) _tile_stored(3, sums + 3 * kTileWords, line);
}

// A product whose rows_copy holds the rows in pairs. The tiles are released at its end: their 8 KiB would be saved at
// each switch of the thread.
static void ProductByTiles(const PanelProduct<float>& p) {
  const ptrdiff_t pairs = PairsOf(p.depth);
  const auto* panel = static_cast<const uint32_t*>(p.panel);
  const ptrdiff_t groups = (p.rows + kTileRows - 1) / kTileRows;
  alignas(64) float sums[kTileRows][4 * kTileWords];
  WithChunks(p.chunks, [&](auto chunks) {
    int shaped = 0;
    for (ptrdiff_t group = 0; group < groups; group++) {
      const ptrdiff_t first = p.rows * group / groups;
      const int count = static_cast<int>(p.rows * (group + 1) / groups - first);
      if (count != shaped) {
        const TileShapes shapes(count);
        _tile_loadconfig(&shapes);
        shaped = count;
      }
      MultiplyTiles<chunks.kValue>(p.rows_copy->words + first * pairs, count, pairs, panel, p.panel_stride, sums[0]);
      for (int row = 0; row < count; row++) {
        const float* init = p.init == nullptr ? nullptr : p.init + (first + row) * p.init_stride;
        float* c = p.c + (first + row) * p.c_stride;
        for (ptrdiff_t k = 0; k < chunks.kValue * kTileWords; k++)
          c[k] = (init == nullptr ? 0.0f : init[k]) + sums[row][k];
      }
    }
  });
  _tile_release();
}

}  // namespace
