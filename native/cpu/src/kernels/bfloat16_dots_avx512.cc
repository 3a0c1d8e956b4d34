// Products of bfloat16 weights and rows: VDPBF16PS multiplies two pairs and adds them to a float32 sum, 64
// multiplications and additions in an instruction (Intel Intrinsics Guide, _mm512_dpbf16_ps).
#include "kernels/vector_avx512.h"
// The vectors come first: the kernels are written over them.
#include "kernels/bfloat16_rounding.h"
#include "kernels/dot_panels.h"
#include "kernels/dot_tiles.h"
#if defined(CUDNN_RNN_AMX)
#include "kernels/bfloat16_tiles.h"
#endif

namespace cudnn_rnn {
namespace {

__mmask16 LanesBelow(ptrdiff_t count) {
  return count >= VectorF32::kLanes ? 0xffff : static_cast<__mmask16>((1u << count) - 1);
}

// A row of `depth` elements; one past an odd depth is zero.
void RoundRow(const float* a, ptrdiff_t depth, uint32_t* words) {
  auto* rounded = reinterpret_cast<char*>(words);
  for (ptrdiff_t k = 0; k < depth; k += VectorF32::kLanes) {
    const __m256bh x = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(LanesBelow(depth - k), a + k));
    _mm256_mask_storeu_epi16(rounded + 2 * k, LanesBelow(2 * PairsOf(depth) - k), (__m256i)x);
  }
}

void RoundRows(const PanelProduct<float>& p) {
  CopyRows(p, [&](ptrdiff_t row, ptrdiff_t k, const float* x, ptrdiff_t count) {
    RoundRow(x, count, p.rows_copy->words + row * PairsOf(p.depth) + k / 2);
  });
}

struct Bfloat16Dots {
  using Register = __m512;
  static __m512 Load(const uint32_t* words) { return _mm512_loadu_ps(words); }
  static __m512 Set(uint32_t word) { return _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(word))); }
  static void Add(__m512* sums, __m512 x, __m512 weights) {
    *sums = _mm512_dpbf16_ps(*sums, (__m512bh)weights, (__m512bh)x);
  }
};

struct Bfloat16Tile {
  // 6 · 4 sums, 4 weights and the elements of a row are 29 of 32 registers.
  static constexpr int kTileVectors[] = {4, 4, 4, 4, 4, 4};

  template <int kRows, int kVectors>
  static void Multiply(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t column) {
    const ptrdiff_t pairs = PairsOf(p.depth);
    __m512 sums[1][kRows][kVectors];
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kRows; i++) {
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) sums[0][i][j] = _mm512_setzero_ps();
    }
    AddDots<VectorF32, Bfloat16Dots>(p, {p.rows_copy->words + row * pairs, pairs, 0, pairs}, 0, column, sums);
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kRows; i++) {
      const float* init = p.init == nullptr ? nullptr : p.init + (row + i) * p.init_stride + column;
      float* c = p.c + (row + i) * p.c_stride + column;
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        const __m512 start = init == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(init + j * VectorF32::kLanes);
        _mm512_storeu_ps(c + j * VectorF32::kLanes, _mm512_add_ps(start, sums[0][i][j]));
      }
    }
  }
};

}  // namespace

void ProductByBfloat16Dots(const PanelProduct<float>& p) {
  RoundRows(p);
  DotTiles<VectorF32::kLanes, Bfloat16Tile>(p, p.rows);
}

#if defined(CUDNN_RNN_AMX)
void ProductByBfloat16Tiles(const PanelProduct<float>& p) {
  RoundRows(p);
  ProductByTiles(p);
}
#endif

}  // namespace cudnn_rnn
