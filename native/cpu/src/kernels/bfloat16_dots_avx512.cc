// Products of bfloat16 weights and rows: VDPBF16PS multiplies two pairs and adds them to a float32 sum, 64
// multiplications and additions in an instruction (Intel Intrinsics Guide, _mm512_dpbf16_ps).
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dot_tiles_avx512.h"

namespace cudnn_rnn {
namespace {

ptrdiff_t PairsOf(ptrdiff_t depth) { return (depth + 1) / 2; }

// A row of `depth` elements; one past an odd depth is zero.
void RoundRow(const float* a, ptrdiff_t depth, uint32_t* words) {
  auto* rounded = reinterpret_cast<char*>(words);
  for (ptrdiff_t k = 0; k < depth; k += kLanes) {
    const __m256bh x = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(LanesBelow(depth - k), a + k));
    _mm256_mask_storeu_epi16(rounded + 2 * k, LanesBelow(2 * PairsOf(depth) - k), (__m256i)x);
  }
}

// All rows of a, once for all panels that a thread multiplies with it. If a itself is in panels, they have whole pairs.
void RoundRows(const PanelProduct<float>& p) {
  const ptrdiff_t pairs = PairsOf(p.depth);
  const ptrdiff_t width = p.a_panel_width > 0 ? p.a_panel_width : p.depth;
  for (ptrdiff_t row = 0; row < p.rows; row++) {
    const float* a = p.a + row * p.a_stride;
    uint32_t* words = p.rows_copy->words + row * pairs;
    for (ptrdiff_t k = 0; k < p.depth; k += width, a += p.a_panel_stride)
      RoundRow(a, p.depth - k < width ? p.depth - k : width, words + k / 2);
  }
  p.rows_copy->version = p.version;
}

struct Bfloat16Tile {
  // 6 · 4 sums, 4 weights and the elements of a row are 29 of 32 registers.
  static constexpr int kMostRows = 6;

  template <int kRows, int kChunks>
  static void Multiply(const PanelProduct<float>& p, ptrdiff_t row) {
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
};

}  // namespace

void ProductByBfloat16Dots(const PanelProduct<float>& p) {
  if (p.rows_copy->version != p.version) RoundRows(p);
  Tiles<Bfloat16Tile>(p);
}

}  // namespace cudnn_rnn
