// float32 to bfloat16, and the orders in which products take it. Each file that includes this compiles its own.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

namespace {

using namespace cudnn_rnn;

// bfloat16 is the upper half of a float32: adding 0x7fff, and one more if the last kept bit is set, rounds to the
// nearest, ties to even (https://en.wikipedia.org/wiki/Bfloat16_floating-point_format). A NaN stays one: without the
// quiet bit one whose payload is in the lower half would become infinity. The lower half is zeros.
static inline uint32_t RoundedBits(float x) {
  union {
    float value;
    uint32_t bits;
  } word = {x};
  const uint32_t rounded = (word.bits + 0x7fff + (word.bits >> 16 & 1)) & 0xffff0000u;
  return x != x ? (word.bits | 0x400000u) & 0xffff0000u : rounded;
}

static inline float RoundedToBfloat16(float x) {
  union {
    uint32_t bits;
    float value;
  } word = {RoundedBits(x)};
  return word.value;
}

// Pairs of rows of a depth; the second row past an odd last one is zeros.
static inline ptrdiff_t PairsOf(ptrdiff_t depth) { return (depth + 1) / 2; }

// Makes the copy of the rows of a, once for all panels that a thread multiplies with it: copy(row, k, x, count) for
// `count` elements x of a row from element k on. They are the whole row, or, if a itself is in panels, which have whole
// pairs, the part of one.
template <typename Copy>
static inline void CopyRows(const PanelProduct<float>& p, const Copy& copy) {
  if (p.rows_copy->version == p.version) return;
  const ptrdiff_t width = p.a_panel_width > 0 ? p.a_panel_width : p.depth;
  for (ptrdiff_t row = 0; row < p.rows; row++) {
    const float* x = p.a + row * p.a_stride;
    for (ptrdiff_t k = 0; k < p.depth; k += width, x += p.a_panel_stride)
      copy(row, k, x, p.depth - k < width ? p.depth - k : width);
  }
  p.rows_copy->version = p.version;
}

static inline uint32_t RoundedPair(float first, float second) { return RoundedBits(first) >> 16 | RoundedBits(second); }

// Bfloat16Products::pairs. The second row past an odd last one is zeros.
static inline void RoundPairs(const float* x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t width, uint32_t* words,
                              ptrdiff_t words_stride) {
  alignas(64) static constexpr float kZeros[4 * kChunk<float>] = {};
  for (ptrdiff_t row = 0; row < rows; row += 2, x += 2 * stride, words += words_stride) {
    const float* second = row + 1 < rows ? x + stride : kZeros;
    for (ptrdiff_t k = 0; k < width; k++) words[k] = RoundedPair(x[k], second[k]);
  }
}

// Blocks of a transposition: a line of words.
inline constexpr ptrdiff_t kTransposedBlock = 16;

// The index of the words of one row in a rows_copy that has the rows one after the other.
class SingleRow {
 public:
  SingleRow(ptrdiff_t row, ptrdiff_t, ptrdiff_t words) : first_(row * words) {}
  ptrdiff_t operator()(ptrdiff_t word) const { return first_ + word; }

 private:
  ptrdiff_t first_;
};

static inline ptrdiff_t AtMostBlock(ptrdiff_t count) { return count < kTransposedBlock ? count : kTransposedBlock; }

// Bfloat16Products::copy_columns, kRows rows to a word: two as pairs, or one as a rounded float32. The columns of x are
// the rows of the copy.
template <ptrdiff_t kRows, typename RowOfCopy = SingleRow>
static void CopyRoundedColumns(const float* x, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t columns, uint32_t* words) {
  const ptrdiff_t count = (rows + kRows - 1) / kRows;
  uint32_t block[kTransposedBlock][kTransposedBlock];
  for (ptrdiff_t k = 0; k < columns; k += kTransposedBlock) {
    const ptrdiff_t width = AtMostBlock(columns - k);
    for (ptrdiff_t first = 0; first < count; first += kTransposedBlock) {
      const ptrdiff_t height = AtMostBlock(count - first);
      const float* from = x + kRows * first * stride + k;
      if constexpr (kRows == 2) {
        const ptrdiff_t left = rows - kRows * first;
        RoundPairs(from, stride, left < kRows * height ? left : kRows * height, width, block[0], kTransposedBlock);
      } else {
        for (ptrdiff_t row = 0; row < height; row++) {
          for (ptrdiff_t j = 0; j < width; j++) block[row][j] = RoundedBits(from[row * stride + j]);
        }
      }
      for (ptrdiff_t column = 0; column < width; column++) {
        const RowOfCopy place(k + column, columns, count);
        for (ptrdiff_t row = 0; row < height; row++) words[place(first + row)] = block[row][column];
      }
    }
  }
}

// Bfloat16Products::transposed_pairs
static inline void RoundTransposedPairs(const float* x, ptrdiff_t stride, ptrdiff_t columns, ptrdiff_t width,
                                        uint32_t* words, ptrdiff_t words_stride) {
  uint32_t block[kTransposedBlock][kTransposedBlock];
  for (ptrdiff_t k = 0; k < width / 2; k += kTransposedBlock) {
    const ptrdiff_t pairs = AtMostBlock(width / 2 - k);
    for (ptrdiff_t first = 0; first < columns; first += kTransposedBlock) {
      const ptrdiff_t height = AtMostBlock(columns - first);
      for (ptrdiff_t row = 0; row < height; row++) {
        const float* from = x + (first + row) * stride + 2 * k;
        for (ptrdiff_t j = 0; j < pairs; j++) block[row][j] = RoundedPair(from[2 * j], from[2 * j + 1]);
      }
      for (ptrdiff_t j = 0; j < pairs; j++) {
        for (ptrdiff_t row = 0; row < height; row++) words[(k + j) * words_stride + first + row] = block[row][j];
      }
    }
  }
}

}  // namespace
