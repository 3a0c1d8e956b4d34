// Vectors of 64-bit ARM. Included by kernels_neon.cc only. Functions as in vector_avx512.h.
#pragma once

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

namespace {

// 32 registers of 4 lanes. FMLA by lane multiplies a vector by one element of another, so a broadcast costs nothing
// (Arm Neoverse N1 Software Optimization Guide, 3.16); a register of `a` then serves four steps.
struct VectorF32 {
  using Element = float;
  static constexpr ptrdiff_t kLanes = 4;
  static constexpr int kRegisters = 32;
  // A panel of four chunks is 16 vectors of 4 lanes. 6 rows x 4 vectors: 24 sums, 6 registers of a, 1 of weights make
  // 31 of 32.
  static constexpr int kTileVectors[] = {16, 8, 8, 6, 4, 4};
  static constexpr cudnn_rnn::PanelOrder kPanelOrder = cudnn_rnn::PanelOrder::kRows;
  static constexpr int kCopyTileRows = 0;
  static constexpr bool kMultipliesLanes = true;
  static constexpr int kTransposedColumns = 16;
  static constexpr int kTransposedRows = 4;
  float32x4_t v;

  static VectorF32 Load(const float* p) { return {vld1q_f32(p)}; }
  static VectorF32 LoadRow(const float* p, int) { return Load(p); }
  // See vector_avx512.h.
  static VectorF32 LoadRow(const cudnn_rnn::Bfloat16Pair* p, int row) {
    const uint32x4_t pairs = vld1q_u32(&p->bits);
    return {vreinterpretq_f32_u32(row == 0 ? vshlq_n_u32(pairs, 16) : vandq_u32(pairs, vdupq_n_u32(0xffff0000u)))};
  }
  static VectorF32 LoadRow(const cudnn_rnn::Int8Quad* p, int row) {
    const uint32x4_t quads = vld1q_u32(&p->bits);
    const uint32x4_t high = row == 0   ? vshlq_n_u32(quads, 24)
                            : row == 1 ? vshlq_n_u32(quads, 16)
                            : row == 2 ? vshlq_n_u32(quads, 8)
                                       : quads;
    return {vcvtq_f32_s32(vshrq_n_s32(vreinterpretq_s32_u32(high), 24))};
  }
  static VectorF32 Set(float x) { return {vdupq_n_f32(x)}; }
  void Store(float* p) const { vst1q_f32(p, v); }
};

static inline VectorF32 operator+(VectorF32 a, VectorF32 b) { return {vaddq_f32(a.v, b.v)}; }
static inline VectorF32 operator-(VectorF32 a, VectorF32 b) { return {vsubq_f32(a.v, b.v)}; }
static inline VectorF32 operator*(VectorF32 a, VectorF32 b) { return {vmulq_f32(a.v, b.v)}; }
static inline VectorF32 operator/(VectorF32 a, VectorF32 b) { return {vdivq_f32(a.v, b.v)}; }
static inline VectorF32 MultiplyAdd(VectorF32 a, VectorF32 b, VectorF32 c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
// a[lane] · b + c. The instruction takes the lane as it is, where loading a scalar into all lanes would cost the units
// that multiply a separate operation.
static inline VectorF32 MultiplyAddLane(VectorF32 a, int lane, VectorF32 b, VectorF32 c) {
  switch (lane) {
    case 0:
      return {vfmaq_laneq_f32(c.v, b.v, a.v, 0)};
    case 1:
      return {vfmaq_laneq_f32(c.v, b.v, a.v, 1)};
    case 2:
      return {vfmaq_laneq_f32(c.v, b.v, a.v, 2)};
    default:
      return {vfmaq_laneq_f32(c.v, b.v, a.v, 3)};
  }
}
// FMIN returns NaN if either operand is one, where MINPS returns the second operand. Both let a NaN in the second
// operand pass, which is all that Clamp needs.
static inline VectorF32 Min(VectorF32 a, VectorF32 b) { return {vminq_f32(a.v, b.v)}; }
static inline VectorF32 Max(VectorF32 a, VectorF32 b) { return {vmaxq_f32(a.v, b.v)}; }
static inline VectorF32 Abs(VectorF32 a) { return {vabsq_f32(a.v)}; }
// BSL takes the bits of `sign` if the mask is set, and of `magnitude` elsewhere.
static inline VectorF32 CopySign(VectorF32 magnitude, VectorF32 sign) {
  return {vbslq_f32(vdupq_n_u32(0x80000000u), sign.v, magnitude.v)};
}
// FRINTN: to nearest, ties to even.
static inline VectorF32 Round(VectorF32 a) { return {vrndnq_f32(a.v)}; }
// The exponent field, n + 127 in bits 23 to 30. FCVTZS of a NaN is 0, so a NaN gives 1, which the caller multiplies by
// a NaN.
static inline VectorF32 PowerOfTwo(VectorF32 n) {
  return {vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n.v), vdupq_n_s32(127)), 23))};
}
// x if a < b, else 0: FCMGT gives a mask of ones, AND applies it. False for a NaN, as the C operator.
static inline VectorF32 WhereLess(VectorF32 a, VectorF32 b, VectorF32 x) {
  return {vreinterpretq_f32_u32(vandq_u32(vcltq_f32(a.v, b.v), vreinterpretq_u32_f32(x.v)))};
}
// BIC clears x if a >= b. FCMGE is false for a NaN, so x is kept.
static inline VectorF32 UnlessAtLeast(VectorF32 a, VectorF32 b, VectorF32 x) {
  return {vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(x.v), vcgeq_f32(a.v, b.v)))};
}
// FADDP twice: pairs, then pairs of pairs.
static inline float Sum(VectorF32 a) { return vaddvq_f32(a.v); }
static inline void StoreSums(const VectorF32 a[4], float* p, bool accumulate) {
  // FADDP adds neighbors of two registers: two levels give the four sums in order.
  float32x4_t sums = vpaddq_f32(vpaddq_f32(a[0].v, a[1].v), vpaddq_f32(a[2].v, a[3].v));
  if (accumulate) sums = vaddq_f32(sums, vld1q_f32(p));
  vst1q_f32(p, sums);
}

// The same for double: two lanes, so twice the registers for a panel of as many bytes.
struct VectorF64 {
  using Element = double;
  static constexpr ptrdiff_t kLanes = 2;
  static constexpr int kRegisters = 32;
  static constexpr int kTileVectors[] = {16, 8, 8, 6, 4, 4};
  static constexpr cudnn_rnn::PanelOrder kPanelOrder = cudnn_rnn::PanelOrder::kRows;
  static constexpr int kCopyTileRows = 0;
  static constexpr bool kMultipliesLanes = true;
  static constexpr int kTransposedColumns = 16;
  static constexpr int kTransposedRows = 4;
  float64x2_t v;

  static VectorF64 Load(const double* p) { return {vld1q_f64(p)}; }
  static VectorF64 LoadRow(const double* p, int) { return Load(p); }
  static VectorF64 Set(double x) { return {vdupq_n_f64(x)}; }
  void Store(double* p) const { vst1q_f64(p, v); }
};

static inline VectorF64 operator+(VectorF64 a, VectorF64 b) { return {vaddq_f64(a.v, b.v)}; }
static inline VectorF64 operator-(VectorF64 a, VectorF64 b) { return {vsubq_f64(a.v, b.v)}; }
static inline VectorF64 operator*(VectorF64 a, VectorF64 b) { return {vmulq_f64(a.v, b.v)}; }
static inline VectorF64 operator/(VectorF64 a, VectorF64 b) { return {vdivq_f64(a.v, b.v)}; }
static inline VectorF64 MultiplyAdd(VectorF64 a, VectorF64 b, VectorF64 c) { return {vfmaq_f64(c.v, a.v, b.v)}; }
static inline VectorF64 MultiplyAddLane(VectorF64 a, int lane, VectorF64 b, VectorF64 c) {
  return {lane == 0 ? vfmaq_laneq_f64(c.v, b.v, a.v, 0) : vfmaq_laneq_f64(c.v, b.v, a.v, 1)};
}
static inline VectorF64 Min(VectorF64 a, VectorF64 b) { return {vminq_f64(a.v, b.v)}; }
static inline VectorF64 Max(VectorF64 a, VectorF64 b) { return {vmaxq_f64(a.v, b.v)}; }
static inline VectorF64 Abs(VectorF64 a) { return {vabsq_f64(a.v)}; }
static inline VectorF64 CopySign(VectorF64 magnitude, VectorF64 sign) {
  return {vbslq_f64(vdupq_n_u64(0x8000000000000000u), sign.v, magnitude.v)};
}
static inline VectorF64 Round(VectorF64 a) { return {vrndnq_f64(a.v)}; }
// n + 1023 in bits 52 to 62, the exponent field of float64.
static inline VectorF64 PowerOfTwo(VectorF64 n) {
  return {vreinterpretq_f64_s64(vshlq_n_s64(vaddq_s64(vcvtq_s64_f64(n.v), vdupq_n_s64(1023)), 52))};
}
static inline VectorF64 WhereLess(VectorF64 a, VectorF64 b, VectorF64 x) {
  return {vreinterpretq_f64_u64(vandq_u64(vcltq_f64(a.v, b.v), vreinterpretq_u64_f64(x.v)))};
}
static inline VectorF64 UnlessAtLeast(VectorF64 a, VectorF64 b, VectorF64 x) {
  return {vreinterpretq_f64_u64(vbicq_u64(vreinterpretq_u64_f64(x.v), vcgeq_f64(a.v, b.v)))};
}
static inline double Sum(VectorF64 a) { return vaddvq_f64(a.v); }

}  // namespace
