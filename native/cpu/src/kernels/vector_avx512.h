// Vectors of AVX-512 F, BW, DQ and VL (Skylake-X, Zen 4 and later). Included by kernels_avx512.cc and
// *_dots_avx512.cc only.
//
// 32 registers hold tiles of 6 x 4. Zen 4 executes a 512-bit multiply-add in two halves, so its peak is AVX2's;
// loads of 64 bytes still halve the instructions. Reference:
// https://www.intel.com/content/www/us/en/docs/intrinsics-guide/
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

namespace {

struct VectorF32 {
  using Element = float;
  static constexpr ptrdiff_t kLanes = 16;
  static constexpr int kRegisters = 32;
  // A panel of four chunks is 4 vectors wide, so up to 6 rows one tile spans it: 6 · 4 sums + 4 weights + 1 broadcast
  // are 29 of 32 registers. 7 and 8 rows take tiles of 3.
  static constexpr int kTileVectors[] = {4, 4, 4, 4, 4, 4, 3, 3};
  static constexpr cudnn_rnn::PanelOrder kPanelOrder = cudnn_rnn::PanelOrder::kRows;
  // Rows of the tiles of a RowsCopy; 0 for kernels that read a in place.
  static constexpr int kCopyTileRows = 0;
  static constexpr bool kMultipliesLanes = false;
  static constexpr int kTransposedColumns = 16;
  static constexpr int kTransposedRows = 6;
  __m512 v;

  static VectorF32 Load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static VectorF32 LoadRow(const float* p, int) { return Load(p); }
  // Row 0 or 1 of pairs. bfloat16 is the upper half of a float32: the value of the low half is the word shifted up by
  // 16, the high half's the word with its low half cleared. One integer instruction each, none for the
  // conversion.
  static VectorF32 LoadRow(const cudnn_rnn::Bfloat16Pair* p, int row) {
    const __m512i pairs = _mm512_loadu_si512(p);
    return {_mm512_castsi512_ps(row == 0 ? _mm512_slli_epi32(pairs, 16)
                                         : _mm512_and_si512(pairs, _mm512_set1_epi32(INT32_MIN >> 15)))};
  }
  // Row 0 to 3 of quads. A byte is shifted to the top of its lane, then arithmetically to the bottom, which extends its
  // sign. The column's scale is applied once, at the end of the sum (ProductTile).
  static VectorF32 LoadRow(const cudnn_rnn::Int8Quad* p, int row) {
    const __m512i quads = _mm512_loadu_si512(p);
    const __m512i high = row == 0   ? _mm512_slli_epi32(quads, 24)
                         : row == 1 ? _mm512_slli_epi32(quads, 16)
                         : row == 2 ? _mm512_slli_epi32(quads, 8)
                                    : quads;
    return {_mm512_cvtepi32_ps(_mm512_srai_epi32(high, 24))};
  }
  static VectorF32 Set(float x) { return {_mm512_set1_ps(x)}; }
  void Store(float* p) const { _mm512_storeu_ps(p, v); }
};

static inline VectorF32 operator+(VectorF32 a, VectorF32 b) { return {_mm512_add_ps(a.v, b.v)}; }
static inline VectorF32 operator-(VectorF32 a, VectorF32 b) { return {_mm512_sub_ps(a.v, b.v)}; }
static inline VectorF32 operator*(VectorF32 a, VectorF32 b) { return {_mm512_mul_ps(a.v, b.v)}; }
static inline VectorF32 operator/(VectorF32 a, VectorF32 b) { return {_mm512_div_ps(a.v, b.v)}; }
static inline VectorF32 MultiplyAdd(VectorF32 a, VectorF32 b, VectorF32 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
// MINPS and MAXPS are not symmetric: if either operand is a NaN they return the second one. A NaN in b is returned, one
// in a is not (Intel SDM vol. 2, MINPS; https://www.felixcloutier.com/x86/minps). Clamp relies on it.
static inline VectorF32 Min(VectorF32 a, VectorF32 b) { return {_mm512_min_ps(a.v, b.v)}; }
static inline VectorF32 Max(VectorF32 a, VectorF32 b) { return {_mm512_max_ps(a.v, b.v)}; }
static inline VectorF32 Abs(VectorF32 a) { return {_mm512_abs_ps(a.v)}; }
// The magnitude must not be negative: its sign bit is 0, and OR sets the sign bit of `sign`.
static inline VectorF32 CopySign(VectorF32 magnitude, VectorF32 sign) {
  const __m512i mask = _mm512_set1_epi32(INT32_MIN);
  return {_mm512_castsi512_ps(
      _mm512_or_si512(_mm512_castps_si512(magnitude.v), _mm512_and_si512(_mm512_castps_si512(sign.v), mask)))};
}
static inline VectorF32 Round(VectorF32 a) {
  // An exact tie rounds to even, as lrint does; the inexact flag stays clear.
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
// 2^n for integers n. VSCALEFPS computes a · 2^floor(b), with the right results at the ends of the range.
static inline VectorF32 PowerOfTwo(VectorF32 n) { return {_mm512_scalef_ps(_mm512_set1_ps(1), n.v)}; }
// a < b ? x : 0
static inline VectorF32 WhereLess(VectorF32 a, VectorF32 b, VectorF32 x) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), x.v)};
}
// a >= b ? 0 : x, which lets NaN through
static inline VectorF32 UnlessAtLeast(VectorF32 a, VectorF32 b, VectorF32 x) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_NGE_UQ), x.v)};
}
// Adds the lanes pairwise, in a fixed order.
static inline float Sum(VectorF32 a) { return _mm512_reduce_add_ps(a.v); }
static inline void StoreSums(const VectorF32 a[4], float* p, bool accumulate) {
  // Four horizontal sums at once: two levels of VHADDPS transpose and add, where four separate reductions would take
  // three shuffles each.
  __m256 half[4];
  for (int k = 0; k < 4; k++) {
    half[k] = _mm256_add_ps(_mm512_castps512_ps256(a[k].v), _mm512_extractf32x8_ps(a[k].v, 1));
  }
  const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(half[0], half[1]), _mm256_hadd_ps(half[2], half[3]));
  __m128 sums = _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
  if (accumulate) sums = _mm_add_ps(sums, _mm_loadu_ps(p));
  _mm_storeu_ps(p, sums);
}

struct VectorF64 {
  using Element = double;
  static constexpr ptrdiff_t kLanes = 8;
  static constexpr int kRegisters = 32;
  static constexpr int kTileVectors[] = {4, 4, 4, 4, 4, 4, 3, 3};
  static constexpr cudnn_rnn::PanelOrder kPanelOrder = cudnn_rnn::PanelOrder::kRows;
  static constexpr int kCopyTileRows = 0;
  static constexpr bool kMultipliesLanes = false;
  static constexpr int kTransposedColumns = 16;
  static constexpr int kTransposedRows = 4;
  __m512d v;

  static VectorF64 Load(const double* p) { return {_mm512_loadu_pd(p)}; }
  static VectorF64 LoadRow(const double* p, int) { return Load(p); }
  static VectorF64 Set(double x) { return {_mm512_set1_pd(x)}; }
  void Store(double* p) const { _mm512_storeu_pd(p, v); }
};

static inline VectorF64 operator+(VectorF64 a, VectorF64 b) { return {_mm512_add_pd(a.v, b.v)}; }
static inline VectorF64 operator-(VectorF64 a, VectorF64 b) { return {_mm512_sub_pd(a.v, b.v)}; }
static inline VectorF64 operator*(VectorF64 a, VectorF64 b) { return {_mm512_mul_pd(a.v, b.v)}; }
static inline VectorF64 operator/(VectorF64 a, VectorF64 b) { return {_mm512_div_pd(a.v, b.v)}; }
static inline VectorF64 MultiplyAdd(VectorF64 a, VectorF64 b, VectorF64 c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
static inline VectorF64 Min(VectorF64 a, VectorF64 b) { return {_mm512_min_pd(a.v, b.v)}; }
static inline VectorF64 Max(VectorF64 a, VectorF64 b) { return {_mm512_max_pd(a.v, b.v)}; }
static inline VectorF64 Abs(VectorF64 a) { return {_mm512_abs_pd(a.v)}; }
static inline VectorF64 CopySign(VectorF64 magnitude, VectorF64 sign) {
  const __m512i mask = _mm512_set1_epi64(INT64_MIN);
  return {_mm512_castsi512_pd(
      _mm512_or_si512(_mm512_castpd_si512(magnitude.v), _mm512_and_si512(_mm512_castpd_si512(sign.v), mask)))};
}
static inline VectorF64 Round(VectorF64 a) {
  return {_mm512_roundscale_pd(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
static inline VectorF64 PowerOfTwo(VectorF64 n) { return {_mm512_scalef_pd(_mm512_set1_pd(1), n.v)}; }
static inline VectorF64 WhereLess(VectorF64 a, VectorF64 b, VectorF64 x) {
  return {_mm512_maskz_mov_pd(_mm512_cmp_pd_mask(a.v, b.v, _CMP_LT_OQ), x.v)};
}
static inline VectorF64 UnlessAtLeast(VectorF64 a, VectorF64 b, VectorF64 x) {
  return {_mm512_maskz_mov_pd(_mm512_cmp_pd_mask(a.v, b.v, _CMP_NGE_UQ), x.v)};
}
static inline double Sum(VectorF64 a) { return _mm512_reduce_add_pd(a.v); }

}  // namespace
