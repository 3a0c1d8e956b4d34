// Products of bfloat16 weights and rows: VDPBF16PS multiplies two pairs and adds them to a float32 sum, 64
// multiplications and additions in an instruction (Intel Intrinsics Guide, _mm512_dpbf16_ps).
#include "kernels/bfloat16_dots.h"

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/unroll.h"

namespace cudnn_rnn {
namespace {

constexpr ptrdiff_t kLanes = 16;
// 6 · 4 sums, 4 weights and a pair of a row are 29 of 32 registers.
constexpr int kMostRows = 6;

ptrdiff_t PairsOf(ptrdiff_t depth) { return (depth + 1) / 2; }

__mmask16 LanesBelow(ptrdiff_t count) { return count >= kLanes ? 0xffff : static_cast<__mmask16>((1u << count) - 1); }

// All rows of a, once for all panels that a thread multiplies with it. Elements past an odd depth are zeros.
void RoundRows(const PanelProduct<float>& p) {
  const ptrdiff_t pairs = PairsOf(p.depth);
  for (ptrdiff_t row = 0; row < p.rows; row++) {
    const float* a = p.a + row * p.a_stride;
    auto* rounded = reinterpret_cast<char*>(p.rows_copy->words + row * pairs);
    for (ptrdiff_t k = 0; k < p.depth; k += kLanes) {
      const __m256bh x = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(LanesBelow(p.depth - k), a + k));
      _mm256_mask_storeu_epi16(rounded + 2 * k, LanesBelow(2 * pairs - k), (__m256i)x);
    }
  }
  p.rows_copy->version = p.version;
}

template <int kRows, int kChunks>
void Tile(const PanelProduct<float>& p, ptrdiff_t row) {
  const ptrdiff_t pairs = PairsOf(p.depth);
  const uint32_t* a = p.rows_copy->words + row * pairs;
  const auto* panel = static_cast<const Bfloat16Pair*>(p.panel);
  __m512 sums[kRows][kChunks];
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kRows; i++) {
    CUDNN_RNN_UNROLL
    for (int j = 0; j < kChunks; j++) sums[i][j] = _mm512_setzero_ps();
  }
  for (ptrdiff_t k = 0; k < pairs; k++, panel += p.panel_stride) {
    __m512bh weights[kChunks];
    CUDNN_RNN_UNROLL
    for (int j = 0; j < kChunks; j++) weights[j] = (__m512bh)_mm512_loadu_si512(panel + j * kLanes);
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kRows; i++) {
      const auto x = (__m512bh)_mm512_set1_epi32(static_cast<int>(a[i * pairs + k]));
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kChunks; j++) sums[i][j] = _mm512_dpbf16_ps(sums[i][j], weights[j], x);
    }
  }
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kRows; i++) {
    const float* init = p.init == nullptr ? nullptr : p.init + (row + i) * p.init_stride;
    float* c = p.c + (row + i) * p.c_stride;
    CUDNN_RNN_UNROLL
    for (int j = 0; j < kChunks; j++) {
      const __m512 start = init == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(init + j * kLanes);
      _mm512_storeu_ps(c + j * kLanes, _mm512_add_ps(start, sums[i][j]));
    }
  }
}

// `rows` <= kRows of them: the number becomes a constant.
template <int kRows, int kChunks>
void TileOfRows(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return TileOfRows<kRows - 1, kChunks>(p, row, rows);
  }
  Tile<kRows, kChunks>(p, row);
}

// Tiles of equal height.
template <int kChunks>
void Tiles(const PanelProduct<float>& p) {
  const ptrdiff_t tiles = (p.rows + kMostRows - 1) / kMostRows;
  for (ptrdiff_t tile = 0; tile < tiles; tile++) {
    const ptrdiff_t row = p.rows * tile / tiles;
    TileOfRows<kMostRows, kChunks>(p, row, p.rows * (tile + 1) / tiles - row);
  }
}

}  // namespace

void ProductByBfloat16Dots(const PanelProduct<float>& p) {
  if (p.rows_copy->version != p.version) RoundRows(p);
  switch (p.chunks) {
    case 1:
      return Tiles<1>(p);
    case 2:
      return Tiles<2>(p);
    case 3:
      return Tiles<3>(p);
    default:
      return Tiles<4>(p);
  }
}

}  // namespace cudnn_rnn
