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
  static constexpr ptrdiff_t kLanes = 4;
  static constexpr ptrdiff_t kColumns = 4;
  static constexpr int kTileVectors[] = {8, 4, 2, 2};
  static constexpr int kMaxRows = 4;
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

  // Takes the maximum as integers: positive floats order as their bit patterns do, and NaN and infinity have the
  // largest patterns.
  static float LargestMagnitude(const float* a, ptrdiff_t count) {
    const v128_t magnitude = wasm_i32x4_const_splat(INT32_MAX);
    v128_t largest = wasm_i32x4_const_splat(0);
    ptrdiff_t k = 0;
    for (; k + kLanes <= count; k += kLanes) {
      largest = wasm_i32x4_max(largest, wasm_v128_and(wasm_v128_load(a + k), magnitude));
    }
    for (; k < count; k++) largest = wasm_i32x4_max(largest, wasm_v128_and(wasm_f32x4_splat(a[k]), magnitude));
    largest = wasm_i32x4_max(largest, wasm_i64x2_shuffle(largest, largest, 1, 0));
    largest = wasm_i32x4_max(largest, wasm_i32x4_shuffle(largest, largest, 1, 0, 3, 2));
    return wasm_f32x4_extract_lane(largest, 0);
  }

  // The sum with the offset is rounded to an integer, to nearest even, which its low 16 bits are.
  static void Round(const float* a, ptrdiff_t count, float scale, int16_t* numbers) {
    const v128_t factor = wasm_f32x4_splat(scale);
    const v128_t offset = wasm_f32x4_const_splat(12582912.0f);
    ptrdiff_t k = 0;
    for (; k + 2 * kLanes <= count; k += 2 * kLanes) {
      const v128_t low = wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(a + k), factor), offset);
      const v128_t high = wasm_f32x4_add(wasm_f32x4_mul(wasm_v128_load(a + k + kLanes), factor), offset);
      wasm_v128_store(numbers + k, wasm_i16x8_shuffle(low, high, 0, 2, 4, 6, 8, 10, 12, 14));
    }
    for (; k < count; k++) {
      const v128_t sum = wasm_f32x4_add(wasm_f32x4_mul(wasm_f32x4_splat(a[k]), factor), offset);
      numbers[k] = wasm_i16x8_extract_lane(sum, 0);
    }
  }
};

}  // namespace
