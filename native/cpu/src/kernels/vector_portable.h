// Vectors without intrinsics: four lanes in plain C++, for the compiler to do with as it can. Included by
// kernels_portable.cc only. Functions as in vector_avx512.h.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"

namespace {

// kMantissa: stored bits of the mantissa. kBias: bias of the exponent. Bits: the unsigned integer of T's size.
template <typename T, typename Bits, int kMantissa, int kBias>
struct PortableVector {
  using Element = T;
  static constexpr ptrdiff_t kLanes = 4;
  static constexpr int kRegisters = 16;
  // Sixteen vector registers are assumed, as SSE2 has on x86-64; with fewer, sums spill to the stack.
  static constexpr int kTileVectors[] = {8, 4, 3, 2};
  static constexpr cudnn_rnn::PanelOrder kPanelOrder = cudnn_rnn::PanelOrder::kRows;
  // Five networks of 5 to 64 rows took 0.84 to 0.99 of the time of those without a copy (GCC, SSE2, Zen 3).
  static constexpr int kCopyTileRows = 4;
  static constexpr bool kMultipliesLanes = false;
  static constexpr int kTransposedColumns = 4;
  static constexpr int kTransposedRows = 2;
  T v[4];

  static PortableVector Load(const T* p) { return {{p[0], p[1], p[2], p[3]}}; }
  static PortableVector LoadRow(const T* p, int) { return Load(p); }
  static PortableVector LoadRow(const cudnn_rnn::Bfloat16Pair* p, int row) {
    return Map([&](int k) {
      const uint32_t bits = row == 0 ? p[k].bits << 16 : p[k].bits & 0xffff0000u;
      float x;
      memcpy(&x, &bits, sizeof x);
      return static_cast<T>(x);
    });
  }
  // Row `row` of a quad is byte `row` of the word, in little-endian order of significance, not of memory.
  // The conversion to int8_t of the lowest byte extends its sign.
  static PortableVector LoadRow(const cudnn_rnn::Int8Quad* p, int row) {
    return Map([&](int k) { return static_cast<T>(static_cast<int8_t>(p[k].bits >> 8 * row)); });
  }
  static PortableVector Set(T x) { return {{x, x, x, x}}; }
  void Store(T* p) const {
    for (int k = 0; k < 4; k++) p[k] = v[k];
  }
  // Unrolled by hand: four independent expressions, which GCC and Clang combine to one vector operation (SLP).
  template <typename Function>
  static PortableVector Map(Function function) {
    return {{function(0), function(1), function(2), function(3)}};
  }
  friend PortableVector operator+(PortableVector a, PortableVector b) {
    return Map([&](int k) { return a.v[k] + b.v[k]; });
  }
  friend PortableVector operator-(PortableVector a, PortableVector b) {
    return Map([&](int k) { return a.v[k] - b.v[k]; });
  }
  friend PortableVector operator*(PortableVector a, PortableVector b) {
    return Map([&](int k) { return a.v[k] * b.v[k]; });
  }
  friend PortableVector operator/(PortableVector a, PortableVector b) {
    return Map([&](int k) { return a.v[k] / b.v[k]; });
  }
  // Not std::fma, which is a call into libm on processors without the instruction. The compiler may fuse.
  friend PortableVector MultiplyAdd(PortableVector a, PortableVector b, PortableVector c) {
    return Map([&](int k) { return a.v[k] * b.v[k] + c.v[k]; });
  }
  // The comparison is false for a NaN in either operand, so the second operand is returned, as by MINPS.
  friend PortableVector Min(PortableVector a, PortableVector b) {
    return Map([&](int k) { return a.v[k] < b.v[k] ? a.v[k] : b.v[k]; });
  }
  friend PortableVector Max(PortableVector a, PortableVector b) {
    return Map([&](int k) { return a.v[k] > b.v[k] ? a.v[k] : b.v[k]; });
  }
  friend PortableVector Abs(PortableVector a) {
    return Map([&](int k) { return a.v[k] < 0 ? -a.v[k] : a.v[k]; });
  }
  // Works on bits: std::copysign is a function call in some C libraries. memcpy is the defined way to read the bits of
  // a float.
  friend PortableVector CopySign(PortableVector magnitude, PortableVector sign) {
    return Map([&](int k) {
      Bits bits[2];
      memcpy(&bits[0], &magnitude.v[k], sizeof(T));
      memcpy(&bits[1], &sign.v[k], sizeof(T));
      bits[0] |= bits[1] & (Bits{1} << (sizeof(T) * 8 - 1));
      T x;
      memcpy(&x, &bits[0], sizeof x);
      return x;
    });
  }
  // Adding and subtracting 1.5 · 2^mantissa rounds to an integer.
  friend PortableVector Round(PortableVector a) {
    constexpr T kShift = static_cast<T>(Bits{3} << (kMantissa - 1));
    return Map([&](int k) {
      const T shifted = a.v[k] + kShift;
      // The build must not allow -ffast-math, which would simplify this to a.
      return shifted - kShift;
    });
  }
  // 2^n for an integer n within the range of exponents: n + bias in the field of the exponent, a mantissa of 0.
  friend PortableVector PowerOfTwo(PortableVector n) {
    return Map([&](int k) {
      // A conversion of NaN to an integer is undefined. Any power serves: the caller multiplies it by a NaN.
      const Bits bits = (n.v[k] == n.v[k] ? static_cast<Bits>(static_cast<int>(n.v[k]) + kBias) : Bits{0}) << kMantissa;
      T x;
      memcpy(&x, &bits, sizeof x);
      return x;
    });
  }
  // Selections without branches: compilers turn them into masks if the target has vectors.
  friend PortableVector WhereLess(PortableVector a, PortableVector b, PortableVector x) {
    return Map([&](int k) { return a.v[k] < b.v[k] ? x.v[k] : T{0}; });
  }
  friend PortableVector UnlessAtLeast(PortableVector a, PortableVector b, PortableVector x) {
    return Map([&](int k) { return a.v[k] >= b.v[k] ? T{0} : x.v[k]; });
  }
  // Pairs, as the vector files add them: two additions deep instead of three.
  friend T Sum(PortableVector a) { return (a.v[0] + a.v[1]) + (a.v[2] + a.v[3]); }
};

// IEEE 754: 23 and 52 stored bits of the mantissa, exponents biased by 127 and 1023.
using VectorF32 = PortableVector<float, uint32_t, 23, 127>;
using VectorF64 = PortableVector<double, uint64_t, 52, 1023>;

}  // namespace
