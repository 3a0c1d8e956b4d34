// Products of bfloat16 weights and rows. BFMMLA multiplies two rows of four by two columns of four and adds to four
// float32 sums, BFDOT the pairs of four columns by one pair of a row (Arm Architecture Reference Manual). Both round
// each addition to odd and take denormals as zero.
#include "kernels/bfloat16_rounding.h"
#include "kernels/dot_tiles_neon.h"

namespace cudnn_rnn {
namespace {

// Elements of a row, of which `a` has an even number or the last, from the `word` on; one past an odd depth is zero.
void RoundRow(const float* a, ptrdiff_t count, const PairedRow& row, ptrdiff_t word, uint32_t* words) {
  for (ptrdiff_t k = 0; k < count; k += 8) {
    const float32x4x2_t x = LoadEight(a + k, count - k);
    const bfloat16x8_t rounded = vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(x.val[0]), x.val[1]);
    uint32_t four[4];
    vst1q_u32(four, vreinterpretq_u32_bf16(rounded));
    const ptrdiff_t left = PairsOf(count - k);
    for (ptrdiff_t i = 0; i < 4 && i < left; i++) words[row(word + k / 2 + i)] = four[i];
  }
}

struct Bfloat16MatricesNeon {
  using Sums = float32x4_t;
  static constexpr bool kMultipliesMatrices = true;
  static constexpr auto& kTileVectors = kMatrixTileVectors;

  static float32x4_t Zeros() { return vdupq_n_f32(0); }
  template <int kLane>
  static float32x4_t DotLane(float32x4_t sums, uint32x4_t w, uint32x4_t x) {
    return vbfdotq_laneq_f32(sums, vreinterpretq_bf16_u32(w), vreinterpretq_bf16_u32(x), kLane);
  }
  static float32x4_t Multiply(float32x4_t sums, uint32x4_t x, uint32x4_t w) {
    return vbfmmlaq_f32(sums, vreinterpretq_bf16_u32(x), vreinterpretq_bf16_u32(w));
  }
};

struct Bfloat16Tile {
  static constexpr auto& kTileVectors = Bfloat16MatricesNeon::kTileVectors;

  template <int kRows, int kVectors>
  [[gnu::noinline]] static void Multiply(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t column) {
    const ptrdiff_t pairs = PairsOf(p.depth);
    const auto* panel = static_cast<const uint32_t*>(p.panel) + column;
    const auto store = [&](const auto& sums) {
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        const float* init = p.init == nullptr ? nullptr : p.init + (row + i) * p.init_stride + column;
        float* c = p.c + (row + i) * p.c_stride + column;
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) {
          const float32x4_t start = init == nullptr ? vdupq_n_f32(0) : vld1q_f32(init + j * kColumns);
          vst1q_f32(c + j * kColumns, vaddq_f32(start, sums[i / 2][j][i % 2]));
        }
      }
    };
    DotTile<Bfloat16MatricesNeon, kRows, kVectors>::Multiply(p.rows_copy->words + row * pairs, pairs, panel,
                                                             p.panel_stride, store);
  }
};

}  // namespace

void ProductByBfloat16Matrices(const PanelProduct<float>& p) {
  CopyRows(p, [&](ptrdiff_t row, ptrdiff_t k, const float* x, ptrdiff_t count) {
    RoundRow(x, count, PairedRow(row, p.rows, PairsOf(p.depth)), k / 2, p.rows_copy->words);
  });
  DotTiles<kColumns, Bfloat16Tile, 2>(p, p.rows);
}

}  // namespace cudnn_rnn
