// Products of bfloat16 weights and rows where no instruction multiplies them: the rows are rounded to bfloat16 and
// multiplied as float32, which is exact. Included, after one vector_*.h, by the kernel files only.
#pragma once

#include "kernels/product_kernels.h"

namespace {

using namespace cudnn_rnn;

// To the nearest, ties to even; NaN stays NaN. weights/quantized_weights.cc explains the sum.
static inline float RoundedToBfloat16(float x) {
  union {
    float value;
    uint32_t bits;
  } word = {x};
  const uint32_t rounded = (word.bits + 0x7fff + (word.bits >> 16 & 1)) & 0xffff0000u;
  word.bits = x != x ? word.bits | 0x400000u : rounded;
  return word.value;
}

template <typename V>
static void ProductOfRoundedRows(const PanelProduct<float>& p) {
  float* rounded = reinterpret_cast<float*>(p.rows_copy->words);
  if (p.rows_copy->version != p.version) {
    for (ptrdiff_t row = 0; row < p.rows; row++) {
      for (ptrdiff_t k = 0; k < p.depth; k++) rounded[row * p.depth + k] = RoundedToBfloat16(p.a[row * p.a_stride + k]);
    }
    p.rows_copy->version = p.version;
  }
  PanelProduct<float> product = p;
  product.a = rounded;
  product.a_stride = p.depth;
  product.rows_copy = nullptr;
  Product<V, Bfloat16Pair, Operands::kRows>(product);
}

}  // namespace
