// Rows of a product in integers, for int8 weights. The loops are plain: each file that includes this compiles them to
// the vectors of its instruction set.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/int8_group.h"
#include "kernels/kernels.h"

namespace {

using namespace cudnn_rnn;

static inline ptrdiff_t BlocksOf(ptrdiff_t depth) { return (depth + kInt8BlockRows - 1) / kInt8BlockRows; }
static inline ptrdiff_t BlockRows(ptrdiff_t depth, ptrdiff_t block) {
  const ptrdiff_t left = depth - block * kInt8BlockRows;
  return left < kInt8BlockRows ? left : kInt8BlockRows;
}

// q = round(a · largest / max|a|) of a block, to nearest even. Returns the scale of the integers; NaN for a row that is
// not finite.
static inline float QuantizeBlock(const float* a, ptrdiff_t count, float largest, int16_t* q) {
  // Takes the maximum as integers: positive floats order as their bit patterns do, and NaN and infinity have the
  // largest patterns.
  int32_t magnitude = 0;
  for (ptrdiff_t k = 0; k < count; k++) {
    int32_t bits;
    memcpy(&bits, a + k, sizeof bits);
    bits &= INT32_MAX;
    magnitude = bits > magnitude ? bits : magnitude;
  }
  float limit;
  memcpy(&limit, &magnitude, sizeof limit);
  const bool finite = limit <= 3.402823466e38f;
  // If the factor would overflow, the products are nothing beside any weight's rounding.
  const float factor = finite && limit > 1e-30f ? largest / limit : 0.0f;
  for (ptrdiff_t k = 0; k < count; k++) {
    // 1.5 · 2^23: the sum has no bits below 1, and its low 16 bits are the integer.
    const float sum = a[k] * factor + 12582912.0f;
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    q[k] = static_cast<int16_t>(bits);
  }
  return finite ? limit / largest : kNaN;
}

// Brings all rows of a to integers of at most `largest`, once for all panels that a thread multiplies with it:
// store(row, block, q, count) for each block of `count` integers, behind which there are zeros up to a whole group.
template <typename Store>
static inline void QuantizeRows(const PanelProduct<float>& p, float largest, const Store& store) {
  if (p.rows_copy->version == p.version) return;
  const ptrdiff_t blocks = BlocksOf(p.depth);
  alignas(64) int16_t q[kInt8BlockRows];
  for (ptrdiff_t row = 0; row < p.rows; row++) {
    for (ptrdiff_t block = 0; block < blocks; block++) {
      const ptrdiff_t count = BlockRows(p.depth, block);
      p.rows_copy->factors[row * blocks + block] =
          QuantizeBlock(p.a + row * p.a_stride + block * kInt8BlockRows, count, largest, q);
      for (ptrdiff_t k = count; k % kInt8GroupRows != 0; k++) q[k] = 0;
      store(row, block, q, count);
    }
  }
  p.rows_copy->version = p.version;
}

}  // namespace
