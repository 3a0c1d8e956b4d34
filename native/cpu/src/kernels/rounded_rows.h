// Products of reduced weights and rows if no instruction multiplies them: the rows are rounded likewise and
// multiplied as float32, which is exact for bfloat16. Included, after one vector_*.h, by the kernel files only.
#pragma once

#include "kernels/bfloat16_rounding.h"
#include "kernels/product_kernels.h"

namespace {

using namespace cudnn_rnn;

// Rounds one row to the form that bfloat16 products read.
static inline void RoundRowToBfloat16(const float* a, ptrdiff_t depth, float* rounded) {
  for (ptrdiff_t k = 0; k < depth; k++) rounded[k] = RoundedToBfloat16(a[k]);
}

// One row as q · max|a| / kInt8Limit with integers q, each kInt8BlockRows apart; NaN if it is not finite.
static inline void RoundRowToInt8(const float* a, ptrdiff_t depth, float* rounded) {
  for (ptrdiff_t first = 0; first < depth; first += kInt8BlockRows) {
    const ptrdiff_t end = depth - first < kInt8BlockRows ? depth : first + kInt8BlockRows;
    float limit = 0;
    for (ptrdiff_t k = first; k < end; k++) {
      const float magnitude = a[k] < 0 ? -a[k] : a[k];
      // A NaN stays the largest.
      limit = magnitude > limit || magnitude != magnitude ? magnitude : limit;
      if (limit != limit) break;
    }
    const bool finite = limit <= 3.402823466e38f;
    // The same integers as QuantizeBlock's (int8_pair_dots.h).
    const float factor = finite && limit > 1e-30f ? kInt8Limit / limit : 0;
    const float scale = finite ? limit / kInt8Limit : kNaN;
    // The sum has no bits below 1, so that it is rounded to an integer, ties to even.
    constexpr float kRounding = 12582912;  // 1.5 · 2^23
    for (ptrdiff_t k = first; k < end; k++) rounded[k] = (a[k] * factor + kRounding - kRounding) * scale;
  }
}

template <typename V, typename Weight, void (*kRound)(const float*, ptrdiff_t, float*)>
static void ProductOfRoundedRows(const PanelProduct<float>& p) {
  float* rounded = reinterpret_cast<float*>(p.rows_copy->words);
  CopyRows(p, [&](ptrdiff_t row, ptrdiff_t k, const float* x, ptrdiff_t count) {
    kRound(x, count, rounded + row * p.depth + k);
  });
  PanelProduct<float> product = p;
  product.a = rounded;
  product.a_stride = p.depth;
  product.a_panel_width = 0;
  product.rows_copy = nullptr;
  Product<V, Weight, Operands::kRows>(product);
}

// int8 weights, widened to float32 in registers.
template <typename V>
static void WidenedInt8Product(const PanelProduct<float>& p) {
  if (p.rows_copy != nullptr && p.rows_copy->in_bytes) return ProductOfRoundedRows<V, Int8Quad, RoundRowToInt8>(p);
  Product<V, Int8Quad, Operands::kRows>(p);
}

}  // namespace
