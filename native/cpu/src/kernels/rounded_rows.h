// Products of reduced weights and rows if no instruction multiplies them: the rows are rounded likewise and
// multiplied as float32, which is exact for bfloat16. Included, after one vector_*.h, by the kernel files only.
#pragma once

#include "kernels/bfloat16_rounding.h"
#include "kernels/int8_rows.h"
#include "kernels/product_kernels.h"

namespace {

using namespace cudnn_rnn;

// The product of a copy that has the rows one after the other, rounded but in float32.
template <typename V, typename Weight>
static void ProductOfCopiedRows(const PanelProduct<float>& p) {
  PanelProduct<float> product = p;
  product.a = reinterpret_cast<const float*>(p.rows_copy->words);
  product.a_stride = p.depth;
  product.a_panel_width = 0;
  product.rows_copy = nullptr;
  Product<V, Weight, Operands::kRows>(product);
}

// By Bfloat16Pairs, or by rounded float32.
template <typename V, typename Weight>
static void RoundedBfloat16Product(const PanelProduct<float>& p) {
  CopyRows(p, [&](ptrdiff_t row, ptrdiff_t first, const float* x, ptrdiff_t count) {
    uint32_t* rounded = p.rows_copy->words + row * p.depth + first;
    for (ptrdiff_t k = 0; k < count; k++) rounded[k] = RoundedBits(x[k]);
  });
  ProductOfCopiedRows<V, Weight>(p);
}

// int8 weights, widened to float32 in registers.
template <typename V>
static void WidenedInt8Product(const PanelProduct<float>& p) {
  if (p.rows_copy == nullptr || !p.rows_copy->in_bytes) return Product<V, Int8Quad, Operands::kRows>(p);
  // The integers times their scale, NaN for a row that is not finite.
  auto* rounded = reinterpret_cast<float*>(p.rows_copy->words);
  QuantizeRows(p, kInt8Limit, [&](ptrdiff_t row, ptrdiff_t block, const int16_t* q, ptrdiff_t count) {
    float* to = rounded + row * p.depth + block * kInt8BlockRows;
    const float scale = p.rows_copy->factors[row * BlocksOf(p.depth) + block];
    for (ptrdiff_t k = 0; k < count; k++) to[k] = q[k] * scale;
  });
  ProductOfCopiedRows<V, Int8Quad>(p);
}

}  // namespace
