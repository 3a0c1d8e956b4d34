// The tiles of products whose instructions multiply several narrow elements of a row at once and add them to one sum.
// A word holds as many elements of the depth: of a row, in a copy of the rows, or of one column of the panel. Included,
// after one vector_*.h, by the kernel files of those instructions only, each of which is compiled for its own.
//
// D, which names the instruction, has
//   Register      V::kLanes words or sums
//   Load          the words of adjacent columns
//   Set           one word of a row for all columns
//   Add           adds the products of two registers of words, a row's the first one, to sums
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "kernels/product_tile.h"
#include "kernels/tile_shapes.h"
#include "kernels/unroll.h"

namespace {

using namespace cudnn_rnn;

// Words of consecutive rows, each of one digit or several.
struct DotRows {
  const uint32_t* words;
  ptrdiff_t row_words;    // between rows
  ptrdiff_t digit_words;  // between the digits of a row
  ptrdiff_t depth;        // in words
};

// Adds kRows rows by the kVectors vectors from `column` on, and from word number `first` of the panel's depth.
template <typename V, typename D, int kDigits, int kRows, int kVectors>
static inline void AddDots(const PanelProduct<float>& p, const DotRows& rows, ptrdiff_t first, ptrdiff_t column,
                           typename D::Register (&sums)[kDigits][kRows][kVectors]) {
  using Register = typename D::Register;
  // If chunks are apart, a pointer for each.
  constexpr bool kApart = kReadsChunks<V>;
  constexpr int kWidth = kApart && kVectors > kVectorsOfChunk<V> ? kVectorsOfChunk<V> : kVectors;
  constexpr int kParts = kVectors / kWidth;
  static_assert(kVectors % kWidth == 0, "A tile has whole chunks, or a part of one");
  const ptrdiff_t place = kApart ? column / kChunk<float> * p.chunk_stride + column % kChunk<float> : column;
  const uint32_t* parts[kParts];
  for (int part = 0; part < kParts; part++) {
    parts[part] = static_cast<const uint32_t*>(p.panel) + first * p.panel_stride + place + part * p.chunk_stride;
  }
  const auto weights_of = [&](int j) { return D::Load(parts[j / kWidth] + j % kWidth * V::kLanes); };
  const uint32_t* a = rows.words;
  const auto x_of = [&](int i, int digit) { return D::Set(a[i * rows.row_words + digit * rows.digit_words]); };
  for (const uint32_t* const end = a + rows.depth; a < end; a++) {
    if constexpr (kRows < kVectors) {
      Register x[kDigits][kRows];
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        CUDNN_RNN_UNROLL
        for (int d = 0; d < kDigits; d++) x[d][i] = x_of(i, d);
      }
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) {
        const Register weights = weights_of(j);
        CUDNN_RNN_UNROLL
        for (int i = 0; i < kRows; i++) {
          CUDNN_RNN_UNROLL
          for (int d = 0; d < kDigits; d++) D::Add(&sums[d][i][j], x[d][i], weights);
        }
      }
    } else {
      Register weights[kVectors];
      CUDNN_RNN_UNROLL
      for (int j = 0; j < kVectors; j++) weights[j] = weights_of(j);
      CUDNN_RNN_UNROLL
      for (int i = 0; i < kRows; i++) {
        CUDNN_RNN_UNROLL
        for (int d = 0; d < kDigits; d++) {
          const Register x = x_of(i, d);
          CUDNN_RNN_UNROLL
          for (int j = 0; j < kVectors; j++) D::Add(&sums[d][i][j], x, weights[j]);
        }
      }
    }
    CUDNN_RNN_UNROLL
    for (int part = 0; part < kParts; part++) parts[part] += p.panel_stride;
  }
}

}  // namespace
