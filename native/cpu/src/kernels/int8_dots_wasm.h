// i32x4.dot_i16x8_s for int8_pair_dots.h. Included by kernels_wasm.cc only.
//
// Sixteen weights take six instructions, five of them arithmetic: a load, a shift, two products and two sums. Each
// 16-bit integer w = 256 high + low holds two weights (int8_group.h); low, in 0...255, is a weight plus 128. One
// product multiplies w by x, the other high, which the shift gives. At the end
//   Σ (low - 128) x = Σ w x - 256 Σ high x - 128 Σ x
// is computed modulo 2^32, exactly, as the left side is below 2^31. With loads that widen eight weights to 16 bits
// each, which the arithmetic units execute, sixteen weights took six arithmetic instructions. Multiply-adds in float32
// take two for four weights, and the conversion. The dot products of relaxed SIMD take 7-bit numbers, so that a row
// would be two digits of 14 bits together, by more instructions on processors without VNNI.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

#include "kernels/int8_group.h"

namespace {

struct Int8DotsWasm {
  using Sums = v128_t;
  using Weights = v128_t;
  static constexpr ptrdiff_t kColumns = 4;
  static constexpr int kTileVectors[] = {8, 4, 2, 2};
  static constexpr int kPerLoad = 2;
  static_assert(cudnn_rnn::kInt8GroupRows == 2);

  static v128_t Zeros() { return wasm_i32x4_const_splat(0); }
  static v128_t Broadcast(const int16_t* numbers) { return wasm_v128_load32_splat(numbers); }
  static v128_t Load(const int8_t* weights) { return wasm_v128_load(weights); }
  static v128_t Next(v128_t w) { return wasm_i16x8_shr(w, 8); }
  static void Finish(v128_t* sums, int32_t sum) {
    sums[0] =
        wasm_i32x4_sub(sums[0], wasm_i32x4_add(wasm_i32x4_shl(sums[1], 8), wasm_i32x4_shl(wasm_i32x4_splat(sum), 7)));
  }
  static v128_t AddDots(v128_t sums, v128_t w, v128_t x) { return wasm_i32x4_add(sums, wasm_i32x4_dot_i16x8(w, x)); }

  // c = sums · scales · factor + init, init null for zeros.
  static void Store(v128_t sums, const float* scales, float factor, const float* init, float* c) {
    const v128_t scale = wasm_f32x4_mul(wasm_v128_load(scales), wasm_f32x4_splat(factor));
    const v128_t start = init == nullptr ? wasm_f32x4_const_splat(0) : wasm_v128_load(init);
    wasm_v128_store(c, wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_convert_i32x4(sums), scale), start));
  }
};

}  // namespace
