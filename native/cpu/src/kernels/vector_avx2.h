// Vectors of AVX2 with FMA (Haswell, Zen and later). Included by kernels_avx2.cc and
// int8_dots_avx_vnni.cc only. Functions as in vector_avx512.h.
//
// 16 registers: a tile of 6 x 2 has 12 sums, 2 weights and 1 broadcast. Two multiply-adds begin each cycle and take
// four, so 8 sums at least must be in flight. kTileVectors gives a single row all 8 vectors of a panel for that reason.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

namespace {

struct VectorF32 {
  using Element = float;
  static constexpr ptrdiff_t kLanes = 8;
  static constexpr int kRegisters = 16;
  // By rows: 1 x 8, 2 x 6, 3 x 4, 4 x 2, 5 x 2 and 6 x 2 vectors, each within 16 registers with its operands
  // (TilesFit), and of whole chunks.
  static constexpr int kTileVectors[] = {8, 6, 4, 2, 2, 2};
  static constexpr cudnn_rnn::PanelOrder kPanelOrder = cudnn_rnn::PanelOrder::kChunks;
  static constexpr int kCopyTileRows = 0;
  static constexpr bool kMultipliesLanes = false;
  static constexpr int kTransposedColumns = 8;
  static constexpr int kTransposedRows = 2;
  __m256 v;

  static VectorF32 Load(const float* p) { return {_mm256_loadu_ps(p)}; }
  static VectorF32 LoadRow(const float* p, int) { return Load(p); }
  // See vector_avx512.h; AVX2 has the same integer operations on 8 lanes.
  static VectorF32 LoadRow(const cudnn_rnn::Bfloat16Pair* p, int row) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return {_mm256_castsi256_ps(row == 0 ? _mm256_slli_epi32(pairs, 16)
                                         : _mm256_and_si256(pairs, _mm256_set1_epi32(INT32_MIN >> 15)))};
  }
  static VectorF32 LoadRow(const cudnn_rnn::Int8Quad* p, int row) {
    const __m256i quads = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i high = row == 0   ? _mm256_slli_epi32(quads, 24)
                         : row == 1 ? _mm256_slli_epi32(quads, 16)
                         : row == 2 ? _mm256_slli_epi32(quads, 8)
                                    : quads;
    return {_mm256_cvtepi32_ps(_mm256_srai_epi32(high, 24))};
  }
  static VectorF32 Set(float x) { return {_mm256_set1_ps(x)}; }
  void Store(float* p) const { _mm256_storeu_ps(p, v); }
};

// Latency and throughput of each: https://www.agner.org/optimize/ (instruction tables) and
// https://www.intel.com/content/www/us/en/docs/intrinsics-guide/. VDIVPS is not pipelined, so the kernels divide once
// if an activation needs a quotient and multiply elsewhere.
static inline VectorF32 operator+(VectorF32 a, VectorF32 b) { return {_mm256_add_ps(a.v, b.v)}; }
static inline VectorF32 operator-(VectorF32 a, VectorF32 b) { return {_mm256_sub_ps(a.v, b.v)}; }
static inline VectorF32 operator*(VectorF32 a, VectorF32 b) { return {_mm256_mul_ps(a.v, b.v)}; }
static inline VectorF32 operator/(VectorF32 a, VectorF32 b) { return {_mm256_div_ps(a.v, b.v)}; }
static inline VectorF32 MultiplyAdd(VectorF32 a, VectorF32 b, VectorF32 c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
static inline VectorF32 Min(VectorF32 a, VectorF32 b) { return {_mm256_min_ps(a.v, b.v)}; }
static inline VectorF32 Max(VectorF32 a, VectorF32 b) { return {_mm256_max_ps(a.v, b.v)}; }
// Clears the sign bit, the only one set in -0.0.
static inline VectorF32 Abs(VectorF32 a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
// The magnitude must not be negative: its sign bit is 0.
static inline VectorF32 CopySign(VectorF32 magnitude, VectorF32 sign) {
  return {_mm256_or_ps(magnitude.v, _mm256_and_ps(sign.v, _mm256_set1_ps(-0.0f)))};
}
// To nearest, ties to even; the inexact flag stays clear.
static inline VectorF32 Round(VectorF32 a) {
  return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
static inline VectorF32 PowerOfTwo(VectorF32 n) {
  // AVX2 has no VSCALEFPS: the exponent field is built directly, n + 127 in bits 23 to 30. n is within ±127, as callers
  // clamp x to ExpConstants::kLimit.
  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(127));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23))};
}
static inline VectorF32 WhereLess(VectorF32 a, VectorF32 b, VectorF32 x) {
  // No mask registers: the comparison gives all ones or zeros, which AND turns into x or 0. OQ is false for a NaN.
  return {_mm256_and_ps(_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ), x.v)};
}
// NGE_UQ, "not greater or equal, unordered", is true for a NaN, so x is kept.
static inline VectorF32 UnlessAtLeast(VectorF32 a, VectorF32 b, VectorF32 x) {
  return {_mm256_and_ps(_mm256_cmp_ps(a.v, b.v, _CMP_NGE_UQ), x.v)};
}
static inline float Sum(VectorF32 a) {
  // Halving: 8 lanes to 4, 2 and 1. VHADDPS would take two shuffles and an addition where one shuffle serves.
  __m128 sums = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  sums = _mm_add_ps(sums, _mm_movehl_ps(sums, sums));
  return _mm_cvtss_f32(_mm_add_ss(sums, _mm_movehdup_ps(sums)));
}
static inline void StoreSums(const VectorF32 a[4], float* p, bool accumulate) {
  // VHADDPS wastes nothing on four sums at once: each of its shuffles serves two sums.
  const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(a[0].v, a[1].v), _mm256_hadd_ps(a[2].v, a[3].v));
  __m128 sums = _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
  if (accumulate) sums = _mm_add_ps(sums, _mm_loadu_ps(p));
  _mm_storeu_ps(p, sums);
}

struct VectorF64 {
  using Element = double;
  static constexpr ptrdiff_t kLanes = 4;
  static constexpr int kRegisters = 16;
  static constexpr int kTileVectors[] = {8, 6, 4, 2, 2, 2};
  static constexpr cudnn_rnn::PanelOrder kPanelOrder = cudnn_rnn::PanelOrder::kChunks;
  static constexpr int kCopyTileRows = 0;
  static constexpr bool kMultipliesLanes = false;
  static constexpr int kTransposedColumns = 8;
  static constexpr int kTransposedRows = 2;
  __m256d v;

  static VectorF64 Load(const double* p) { return {_mm256_loadu_pd(p)}; }
  static VectorF64 LoadRow(const double* p, int) { return Load(p); }
  static VectorF64 Set(double x) { return {_mm256_set1_pd(x)}; }
  void Store(double* p) const { _mm256_storeu_pd(p, v); }
};

static inline VectorF64 operator+(VectorF64 a, VectorF64 b) { return {_mm256_add_pd(a.v, b.v)}; }
static inline VectorF64 operator-(VectorF64 a, VectorF64 b) { return {_mm256_sub_pd(a.v, b.v)}; }
static inline VectorF64 operator*(VectorF64 a, VectorF64 b) { return {_mm256_mul_pd(a.v, b.v)}; }
static inline VectorF64 operator/(VectorF64 a, VectorF64 b) { return {_mm256_div_pd(a.v, b.v)}; }
static inline VectorF64 MultiplyAdd(VectorF64 a, VectorF64 b, VectorF64 c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
static inline VectorF64 Min(VectorF64 a, VectorF64 b) { return {_mm256_min_pd(a.v, b.v)}; }
static inline VectorF64 Max(VectorF64 a, VectorF64 b) { return {_mm256_max_pd(a.v, b.v)}; }
static inline VectorF64 Abs(VectorF64 a) { return {_mm256_andnot_pd(_mm256_set1_pd(-0.0), a.v)}; }
static inline VectorF64 CopySign(VectorF64 magnitude, VectorF64 sign) {
  return {_mm256_or_pd(magnitude.v, _mm256_and_pd(sign.v, _mm256_set1_pd(-0.0)))};
}
static inline VectorF64 Round(VectorF64 a) {
  return {_mm256_round_pd(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
static inline VectorF64 PowerOfTwo(VectorF64 n) {
  // AVX2 converts float64 to int32 only; the sign is extended afterwards. 1023 is the bias of the exponent.
  const __m256i exponent = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(n.v)), _mm256_set1_epi64x(1023));
  return {_mm256_castsi256_pd(_mm256_slli_epi64(exponent, 52))};
}
static inline VectorF64 WhereLess(VectorF64 a, VectorF64 b, VectorF64 x) {
  return {_mm256_and_pd(_mm256_cmp_pd(a.v, b.v, _CMP_LT_OQ), x.v)};
}
static inline VectorF64 UnlessAtLeast(VectorF64 a, VectorF64 b, VectorF64 x) {
  return {_mm256_and_pd(_mm256_cmp_pd(a.v, b.v, _CMP_NGE_UQ), x.v)};
}
static inline double Sum(VectorF64 a) {
  const __m128d sums = _mm_add_pd(_mm256_castpd256_pd128(a.v), _mm256_extractf128_pd(a.v, 1));
  return _mm_cvtsd_f64(_mm_add_sd(sums, _mm_unpackhi_pd(sums, sums)));
}

}  // namespace
