// The tiles of products of words on 64-bit ARM: four bytes, or two bfloat16, of a column in consecutive rows of the
// depth, times as many of a row (paired_rows.h). Included by the kernel files of those instructions only, each of which
// is compiled for its own.
//
// An instruction by lane multiplies the words of four columns by one word of a row. One of matrices multiplies two
// words of two columns by two words of two rows, twice as much at the same rate; but the two words of a column are in
// registers of two steps, which two permutations for every four columns bring together, at the cost of two products.
// So tiles of many rows are narrow, and one pair of rows, which would permute as often as it multiplies, takes the
// words by lane. The sums are the same bits: a product of matrices adds one step after the other, too.
//
// I has
//   Sums                  four sums
//   DotLane<lane>         sums [4 columns] += w [4 columns] · word `lane` of x
//   kTileVectors          the widest tile of every number of rows, in vectors: at most 24 sums beside the operands in
//                         32 registers. One of three pairs by matrices, with 24 sums, fits by the order of g++, and
//                         clang spilled eight.
//   kMultipliesMatrices   and, if so,
//   Multiply              sums [2 rows][2 columns] += x [2 rows][2 words] · w [2 columns][2 words]ᵀ
#pragma once

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dot_panels.h"
#include "kernels/kernels.h"
#include "kernels/paired_rows.h"
#include "kernels/unroll.h"

namespace {

using namespace cudnn_rnn;

inline constexpr ptrdiff_t kColumns = 4;
inline constexpr int kMatrixTileVectors[] = {16, 8, 4, 4, 2, 2, 2, 2, 2, 2, 2, 2};

// Two words of two rows; zeros for a row or a word that is not there.
template <bool kTwoWords>
static inline uint32x4_t LoadPair(const uint32_t* a, bool two_rows) {
  const uint32x2_t zeros = vdup_n_u32(0);
  if constexpr (kTwoWords) return two_rows ? vld1q_u32(a) : vcombine_u32(vld1_u32(a), zeros);
  const uint32x2_t words = two_rows ? vld1_u32(a) : vset_lane_u32(*a, zeros, 0);
  return vcombine_u32(vzip1_u32(words, zeros), vzip2_u32(words, zeros));
}

// kRows rows by kVectors vectors of four columns.
template <typename I, int kRows, int kVectors>
struct DotTile {
  static constexpr int kPairs = (kRows + 1) / 2;
  static constexpr bool kByMatrices = I::kMultipliesMatrices && kPairs > 1;
  using Sums = typename I::Sums;
  // By lane the sums of two rows, by matrices the sums of two times two columns.
  using PairSums = Sums[2];

  static bool HasTwoRows(int pair) { return 2 * pair + 1 < kRows; }

  // Two steps of the depth, or an odd last one.
  template <bool kTwoWords>
  [[gnu::always_inline]] static inline void AddStep(const uint32_t* const (&a)[kPairs], const uint32_t* panel,
                                                    ptrdiff_t stride, PairSums (&sums)[kPairs][kVectors]) {
    const auto load_weights = [&](int j, uint32x4_t(&w)[2]) {
      const uint32x4_t first = vld1q_u32(panel + j * kColumns);
      const uint32x4_t second = kTwoWords ? vld1q_u32(panel + stride + j * kColumns) : vdupq_n_u32(0);
      w[0] = kByMatrices ? vzip1q_u32(first, second) : first;
      w[1] = kByMatrices ? vzip2q_u32(first, second) : second;
    };
    const auto add = [&](int pair, int j, uint32x4_t x, const uint32x4_t(&w)[2]) {
      PairSums& s = sums[pair][j];
      if constexpr (kByMatrices) {
        s[0] = I::Multiply(s[0], x, w[0]);
        s[1] = I::Multiply(s[1], x, w[1]);
      } else {
        s[0] = I::template DotLane<0>(s[0], w[0], x);
        if (HasTwoRows(pair)) s[1] = I::template DotLane<2>(s[1], w[0], x);
        if constexpr (kTwoWords) {
          s[0] = I::template DotLane<1>(s[0], w[1], x);
          if (HasTwoRows(pair)) s[1] = I::template DotLane<3>(s[1], w[1], x);
        }
      }
    };
    // The operands of the side that has fewer registers stay, the others pass by.
    if constexpr (kPairs < 2 * kVectors) {
      uint32x4_t x[kPairs];
      CUDNN_RNN_UNROLL
      for (int pair = 0; pair < kPairs; pair++) x[pair] = LoadPair<kTwoWords>(a[pair], HasTwoRows(pair));
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        uint32x4_t w[2];
        load_weights(j, w);
        CUDNN_RNN_UNROLL
        for (int pair = 0; pair < kPairs; pair++) add(pair, j, x[pair], w);
      }
    } else {
      uint32x4_t w[kVectors][2];
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) load_weights(j, w[j]);
      CUDNN_RNN_UNROLL
      for (int pair = 0; pair < kPairs; pair++) {
        const uint32x4_t x = LoadPair<kTwoWords>(a[pair], HasTwoRows(pair));
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) add(pair, j, x, w[j]);
      }
    }
  }

  // store(sums), sums[row / 2][vector][row % 2] of rows [kRows, words] · panel [words, kVectors]. `rows` are the tile's
  // in the order of PairedRow.
  template <typename Store>
  [[gnu::always_inline]] static inline void Multiply(const uint32_t* rows, ptrdiff_t words, const uint32_t* panel,
                                                     ptrdiff_t stride, const Store& store) {
    PairSums sums[kPairs][kVectors];
    const uint32_t* a[kPairs];
    CUDNN_RNN_UNROLL
    for (int pair = 0; pair < kPairs; pair++) {
      a[pair] = rows + 2 * pair * words;
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) sums[pair][j][0] = sums[pair][j][1] = I::Zeros();
    }
    for (ptrdiff_t left = words; left > 1; left -= 2, panel += 2 * stride) {
      AddStep<true>(a, panel, stride, sums);
      CUDNN_RNN_UNROLL
      for (int pair = 0; pair < kPairs; pair++) a[pair] += HasTwoRows(pair) ? 4 : 2;
    }
    if (words % 2 != 0) AddStep<false>(a, panel, stride, sums);
    if constexpr (kByMatrices) {
      CUDNN_RNN_UNROLL
      for (int pair = 0; pair < kPairs; pair++) {
        CUDNN_RNN_UNROLL
        for (int j = 0; j < kVectors; j++) {
          PairSums& s = sums[pair][j];
          const auto first = (uint64x2_t)s[0], second = (uint64x2_t)s[1];
          s[0] = (Sums)vzip1q_u64(first, second);
          s[1] = (Sums)vzip2q_u64(first, second);
        }
      }
    }
    store(sums);
  }
};

// Up to eight elements, zeros past the last.
static inline float32x4x2_t LoadEight(const float* a, ptrdiff_t count) {
  if (count >= 8) return {vld1q_f32(a), vld1q_f32(a + 4)};
  float padded[8] = {};
  for (ptrdiff_t k = 0; k < count; k++) padded[k] = a[k];
  return {vld1q_f32(padded), vld1q_f32(padded + 4)};
}

}  // namespace
