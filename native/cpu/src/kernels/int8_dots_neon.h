// Products of int8 weights in integers, exactly, by SDOT or SMMLA (I of dot_tiles_neon.h).
//
// A row of a is brought to 8 bits, q = round(a / max|a| · 127), if the copy is in bytes. Else to 16,
// q = round(a / max|a| · 32512), in two signed digits, q = 256·high + low, which are two rows of the copy. The error of
// a's rounding is then 2^-16 of its largest element, and the error of the weights 2^-8.
#pragma once

#include "kernels/dot_tiles_neon.h"
#include "kernels/int8_rows.h"

namespace {

static_assert(kInt8GroupRows == 4, "A word is four rows of a column");

// SDOT: four products of bytes, added to 32 bits, for each of four columns (Arm Architecture Reference Manual, SDOT by
// element).
struct Int8DotsNeon {
  using Sums = int32x4_t;
  static constexpr bool kMultipliesMatrices = false;
  static constexpr int kTileVectors[] = {16, 8, 4, 4, 4, 4};

  static int32x4_t Zeros() { return vdupq_n_s32(0); }
  template <int kLane>
  static int32x4_t DotLane(int32x4_t sums, uint32x4_t w, uint32x4_t x) {
    return vdotq_laneq_s32(sums, vreinterpretq_s8_u32(w), vreinterpretq_s8_u32(x), kLane);
  }
};

inline constexpr ptrdiff_t kBlockWords = kInt8BlockRows / kInt8GroupRows;
// The largest q whose high digit is at most 127.
inline constexpr float kTwoDigitsLimit = 127 * 256;

static inline ptrdiff_t WordsOf(ptrdiff_t block_rows) { return (block_rows + kInt8GroupRows - 1) / kInt8GroupRows; }

// The product of rows in bytes, or in two digits.
template <typename I, bool kInBytes>
struct Int8Product {
  static constexpr auto& kTileVectors = I::kTileVectors;
  static constexpr int kDigits = kInBytes ? 1 : 2;
  static constexpr float kLargest = kInBytes ? kInt8Limit : kTwoDigitsLimit;

  // The digits of a block of all rows.
  static uint32_t* Digits(const PanelProduct<float>& p, ptrdiff_t block) {
    return p.rows_copy->words + block * kBlockWords * kDigits * p.rows;
  }

  static void Quantize(const PanelProduct<float>& p) {
    QuantizeRows(p, kLargest, [&](ptrdiff_t row, ptrdiff_t block, const int16_t* q, ptrdiff_t count) {
      const ptrdiff_t words = WordsOf(count);
      for (int digit = 0; digit < kDigits; digit++) {
        int8_t bytes[kInt8BlockRows];
        // q less its low digit, in -128…127, is 256 times the high one.
        for (ptrdiff_t k = 0; k < kInt8GroupRows * words; k++)
          bytes[k] = static_cast<int8_t>(digit == 0 ? q[k] : (q[k] + 128) >> 8);
        const PairedRow place(kDigits * row + digit, kDigits * p.rows, words);
        uint32_t* const to = Digits(p, block);
        for (ptrdiff_t word = 0; word < words; word++) memcpy(to + place(word), bytes + word * kInt8GroupRows, 4);
      }
    });
  }

  // kRows digits of rows x kVectors vectors, over the whole depth. A separate function, which
  // scripts/checks/check_hot_loops.mjs finds.
  template <int kRows, int kVectors>
  [[gnu::noinline]] static void Multiply(const PanelProduct<float>& p, ptrdiff_t row, ptrdiff_t column) {
    const ptrdiff_t blocks = BlocksOf(p.depth);
    const auto* panel = static_cast<const uint32_t*>(p.panel) + column;
    for (ptrdiff_t block = 0; block < blocks; block++, panel += kBlockWords * p.panel_stride) {
      const ptrdiff_t words = WordsOf(BlockRows(p.depth, block));
      const auto store = [&](const auto& sums) {
        CUDNN_RNN_UNROLL
        for (int i = 0; i < kRows; i += kDigits) {
          const ptrdiff_t row_of_a = (row + i) / kDigits;
          float* c = p.c + row_of_a * p.c_stride + column;
          // The blocks of the depth have different scales, so each is added to c in float32 rather than in integers.
          const float* init = block > 0 ? c : p.init == nullptr ? nullptr : p.init + row_of_a * p.init_stride + column;
          const float32x4_t factor = vdupq_n_f32(p.rows_copy->factors[row_of_a * blocks + block]);
          CUDNN_RNN_UNROLL
          for (int j = 0; j < kVectors; j++) {
            // The sum of bytes, at most 1024 · 127 · 127 < 2^24, and that of each digit, at most 1024 · 128 · 127, are
            // exact in float32.
            float32x4_t sum = vcvtq_f32_s32(sums[i / 2][j][i % 2]);
            if constexpr (!kInBytes) sum = vfmaq_n_f32(sum, vcvtq_f32_s32(sums[i / 2][j][1]), 256);
            const float32x4_t start = init == nullptr ? vdupq_n_f32(0) : vld1q_f32(init + j * kColumns);
            const float32x4_t scale = vmulq_f32(vld1q_f32(p.scales + column + j * kColumns), factor);
            vst1q_f32(c + j * kColumns, vfmaq_f32(start, sum, scale));
          }
        }
      };
      DotTile<I, kRows, kVectors>::Multiply(Digits(p, block) + row * words, words, panel, p.panel_stride, store);
    }
  }

  static void Product(const PanelProduct<float>& p) {
    Quantize(p);
    DotTiles<kColumns, Int8Product, 2, kDigits>(p, kDigits * p.rows);
  }
};

// KernelTable::product_int8.
template <typename I>
static void ProductOfInt8(const PanelProduct<float>& p) {
  p.rows_copy->in_bytes ? Int8Product<I, true>::Product(p) : Int8Product<I, false>::Product(p);
}

}  // namespace
