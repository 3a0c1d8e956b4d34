// Vectors of WebAssembly: simd128, and with -mrelaxed-simd its fused multiply-add. Included by kernels_wasm.cc only.
// Functions as in vector_avx512.h.
//
// The engine assigns registers. V8 on x64 has 15 for values, and before version 13 it loads the operands of a loop body
// before the first multiply-add: a tile of rows x vectors takes rows · vectors + rows + vectors registers, and two
// steps in one body take the operands of both. So a body has one step (kLeastSteps of product_tile.h), and the tiles
// are 1 x 8, 2 x 4, 3 x 2 and 4 x 2, of whole chunks. 1 x 8 uses each of its weights once, at their load, and does not
// spill. From a copy of the rows all addresses are known at one pointer, and no version spills a tile of 6 x 2.
// docs/wasm.md has the rates of other tiles. kRegisters is 13 so that no tile of six sums is split into twelve.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

#include "kernels/kernels.h"

namespace {

inline constexpr int kWasmTileVectors[] = {8, 4, 2, 2};

// 128 bits: four lanes of float32, two of float64. An engine maps these to SSE4.1 or NEON, mostly one instruction for
// one (https://github.com/WebAssembly/simd).
struct VectorF32 {
  using Element = float;
  static constexpr ptrdiff_t kLanes = 4;
  static constexpr int kRegisters = 13;
  static constexpr auto& kTileVectors = kWasmTileVectors;
  static constexpr cudnn_rnn::PanelOrder kPanelOrder = cudnn_rnn::PanelOrder::kChunks;
  static constexpr int kCopyTileRows = 6;
  static constexpr bool kMultipliesLanes = false;
  static constexpr int kTransposedColumns = 4;
  static constexpr int kTransposedRows = 2;
  v128_t v;

  static VectorF32 Load(const float* p) { return {wasm_v128_load(p)}; }
  static VectorF32 LoadRow(const float* p, int) { return Load(p); }
  // See vector_avx512.h.
  static VectorF32 LoadRow(const cudnn_rnn::Bfloat16Pair* p, int row) {
    const v128_t pairs = wasm_v128_load(p);
    return {row == 0 ? wasm_i32x4_shl(pairs, 16) : wasm_v128_and(pairs, wasm_i32x4_const_splat(INT32_MIN >> 15))};
  }
  static VectorF32 Set(float x) { return {wasm_f32x4_splat(x)}; }
  void Store(float* p) const { wasm_v128_store(p, v); }
};

static inline VectorF32 operator+(VectorF32 a, VectorF32 b) { return {wasm_f32x4_add(a.v, b.v)}; }
static inline VectorF32 operator-(VectorF32 a, VectorF32 b) { return {wasm_f32x4_sub(a.v, b.v)}; }
static inline VectorF32 operator*(VectorF32 a, VectorF32 b) { return {wasm_f32x4_mul(a.v, b.v)}; }
static inline VectorF32 operator/(VectorF32 a, VectorF32 b) { return {wasm_f32x4_div(a.v, b.v)}; }
// relaxed_madd rounds once or twice, by the processor: results differ in their last bits between machines
// (https://github.com/WebAssembly/relaxed-simd/blob/main/proposals/relaxed-simd/Overview.md).
static inline VectorF32 MultiplyAdd(VectorF32 a, VectorF32 b, VectorF32 c) {
#if defined(__wasm_relaxed_simd__)
  return {wasm_f32x4_relaxed_madd(a.v, b.v, c.v)};
#else
  return {wasm_f32x4_add(wasm_f32x4_mul(a.v, b.v), c.v)};
#endif
}
// pmin(b, a) is a < b ? a : b, as MINPS computes it: one instruction on x64, and a NaN in b is returned.
static inline VectorF32 Min(VectorF32 a, VectorF32 b) { return {wasm_f32x4_pmin(b.v, a.v)}; }
static inline VectorF32 Max(VectorF32 a, VectorF32 b) { return {wasm_f32x4_pmax(b.v, a.v)}; }
static inline VectorF32 Abs(VectorF32 a) { return {wasm_f32x4_abs(a.v)}; }
static inline VectorF32 CopySign(VectorF32 magnitude, VectorF32 sign) {
  return {wasm_v128_or(magnitude.v, wasm_v128_and(sign.v, wasm_f32x4_const_splat(-0.0f)))};
}
static inline VectorF32 Round(VectorF32 a) { return {wasm_f32x4_nearest(a.v)}; }
// The lowest bits of the sum are n + 127. A conversion to integers would take five instructions on x64.
static inline VectorF32 PowerOfTwo(VectorF32 n) {
  return {wasm_i32x4_shl(wasm_f32x4_add(n.v, wasm_f32x4_const_splat(12582912.0f + 127.0f)), 23)};
}
// Comparisons give lanes of ones or zeros, so an AND selects x or 0. A comparison with NaN is false.
static inline VectorF32 WhereLess(VectorF32 a, VectorF32 b, VectorF32 x) {
  return {wasm_v128_and(wasm_f32x4_lt(a.v, b.v), x.v)};
}
static inline VectorF32 UnlessAtLeast(VectorF32 a, VectorF32 b, VectorF32 x) {
  return {wasm_v128_andnot(x.v, wasm_f32x4_ge(a.v, b.v))};
}
static inline float Sum(VectorF32 a) {
  const v128_t pairs = wasm_f32x4_add(a.v, wasm_i64x2_shuffle(a.v, a.v, 1, 0));
  return wasm_f32x4_extract_lane(pairs, 0) + wasm_f32x4_extract_lane(pairs, 1);
}
// The sums of four vectors at once, by two rounds of transposing shuffles: six shuffles against four horizontal sums.
static inline void StoreSums(const VectorF32 a[4], float* p, bool accumulate) {
  const v128_t low01 = wasm_i32x4_shuffle(a[0].v, a[1].v, 0, 4, 1, 5);
  const v128_t high01 = wasm_i32x4_shuffle(a[0].v, a[1].v, 2, 6, 3, 7);
  const v128_t low23 = wasm_i32x4_shuffle(a[2].v, a[3].v, 0, 4, 1, 5);
  const v128_t high23 = wasm_i32x4_shuffle(a[2].v, a[3].v, 2, 6, 3, 7);
  const v128_t sums01 = wasm_f32x4_add(low01, high01);
  const v128_t sums23 = wasm_f32x4_add(low23, high23);
  v128_t sums = wasm_f32x4_add(wasm_i64x2_shuffle(sums01, sums23, 0, 2), wasm_i64x2_shuffle(sums01, sums23, 1, 3));
  if (accumulate) sums = wasm_f32x4_add(sums, wasm_v128_load(p));
  wasm_v128_store(p, sums);
}

struct VectorF64 {
  using Element = double;
  static constexpr ptrdiff_t kLanes = 2;
  static constexpr int kRegisters = 13;
  static constexpr auto& kTileVectors = kWasmTileVectors;
  static constexpr cudnn_rnn::PanelOrder kPanelOrder = cudnn_rnn::PanelOrder::kChunks;
  static constexpr int kCopyTileRows = 6;
  static constexpr bool kMultipliesLanes = false;
  static constexpr int kTransposedColumns = 4;
  static constexpr int kTransposedRows = 2;
  v128_t v;

  static VectorF64 Load(const double* p) { return {wasm_v128_load(p)}; }
  static VectorF64 LoadRow(const double* p, int) { return Load(p); }
  static VectorF64 Set(double x) { return {wasm_f64x2_splat(x)}; }
  void Store(double* p) const { wasm_v128_store(p, v); }
};

static inline VectorF64 operator+(VectorF64 a, VectorF64 b) { return {wasm_f64x2_add(a.v, b.v)}; }
static inline VectorF64 operator-(VectorF64 a, VectorF64 b) { return {wasm_f64x2_sub(a.v, b.v)}; }
static inline VectorF64 operator*(VectorF64 a, VectorF64 b) { return {wasm_f64x2_mul(a.v, b.v)}; }
static inline VectorF64 operator/(VectorF64 a, VectorF64 b) { return {wasm_f64x2_div(a.v, b.v)}; }
static inline VectorF64 MultiplyAdd(VectorF64 a, VectorF64 b, VectorF64 c) {
#if defined(__wasm_relaxed_simd__)
  return {wasm_f64x2_relaxed_madd(a.v, b.v, c.v)};
#else
  return {wasm_f64x2_add(wasm_f64x2_mul(a.v, b.v), c.v)};
#endif
}
static inline VectorF64 Min(VectorF64 a, VectorF64 b) { return {wasm_f64x2_pmin(b.v, a.v)}; }
static inline VectorF64 Max(VectorF64 a, VectorF64 b) { return {wasm_f64x2_pmax(b.v, a.v)}; }
static inline VectorF64 Abs(VectorF64 a) { return {wasm_f64x2_abs(a.v)}; }
static inline VectorF64 CopySign(VectorF64 magnitude, VectorF64 sign) {
  return {wasm_v128_or(magnitude.v, wasm_v128_and(sign.v, wasm_f64x2_const_splat(-0.0)))};
}
static inline VectorF64 Round(VectorF64 a) { return {wasm_f64x2_nearest(a.v)}; }
static inline VectorF64 PowerOfTwo(VectorF64 n) {
  return {wasm_i64x2_shl(wasm_f64x2_add(n.v, wasm_f64x2_const_splat(6755399441055744.0 + 1023.0)), 52)};
}
static inline VectorF64 WhereLess(VectorF64 a, VectorF64 b, VectorF64 x) {
  return {wasm_v128_and(wasm_f64x2_lt(a.v, b.v), x.v)};
}
static inline VectorF64 UnlessAtLeast(VectorF64 a, VectorF64 b, VectorF64 x) {
  return {wasm_v128_andnot(x.v, wasm_f64x2_ge(a.v, b.v))};
}
static inline double Sum(VectorF64 a) { return wasm_f64x2_extract_lane(a.v, 0) + wasm_f64x2_extract_lane(a.v, 1); }

}  // namespace
