// exp, sigmoid and tanh over vectors, without calls into libm. Included, after one vector_*.h, by the kernel files
// only.
//
// All three reduce x to x = n·ln 2 + r with |r| <= ln(2)/2 and take e^r - 1 from a polynomial: Cephes' expf in float32,
// the Taylor series to the 13th power in float64 (remainder below 2^-57). Measured errors: docs/numerics.md.
#pragma once

#include "kernels/unroll.h"

namespace {

template <typename T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  static constexpr float kLimit = 87.0f;     // e^±87 is a normal number
  static constexpr float kTanhLimit = 9.1f;  // tanh is 1 in float32 from 9.02 on
  static constexpr float kLog2E = 1.44269504f;
  // 0.693359375 = 355/512 has 9 significant bits: n · kLn2High is exact for |n| < 2^15.
  static constexpr float kLn2High = 0.693359375f;
  static constexpr float kLn2Low = -2.12194440e-4f;
  // (e^r - 1 - r) / r², highest power first.
  static constexpr float kPolynomial[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f,
                                          4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
};

template <>
struct ExpConstants<double> {
  static constexpr double kLimit = 708.0;
  static constexpr double kTanhLimit = 19.1;  // tanh is 1 in float64 from 19.07 on
  static constexpr double kLog2E = 1.4426950408889634;
  // 32 significant bits, as in fdlibm's e_exp.c: n · kLn2High is exact for |n| < 2^21.
  // https://www.netlib.org/fdlibm/e_exp.c
  static constexpr double kLn2High = 6.93147180369123816490e-01;
  static constexpr double kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kPolynomial[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                           1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                           1.0 / 120,        1.0 / 24,        1.0 / 6,        1.0 / 2};
};

// Ends a step of a group of chains, written side by side. LLVM moves an operation of WebAssembly to the one that uses
// its result, and V8 keeps that order: without the empty statements each chain would follow the one before it.
template <typename V, int kCount>
static inline void EndStep(V (&values)[kCount]) {
#ifdef __wasm__
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kCount; i++) asm volatile("" : "+r"(values[i].v));
#else
  (void)values;
#endif
}

// Range reduction of Cody and Waite 1980, "Software Manual for the Elementary Functions": x = n·ln 2 + r, with ln 2
// split in a part of few bits, whose product with n is exact, and a small rest. The polynomial is Horner's scheme: a
// chain of some twenty operations that wait for each other, 60 cycles. A processor sees about 64 vector operations
// ahead, three such chains, so the chains of a group of vectors are written side by side, step by step: an LSTM step of
// four gates takes two thirds of the time. Sets power = 2^n and reduced = e^r - 1. |x| must be within kLimit, or NaN.
template <typename V, int kCount>
static inline void ReducedExp(const V (&x)[kCount], V (&power)[kCount], V (&reduced)[kCount]) {
  using C = ExpConstants<typename V::Element>;
  V n[kCount], r[kCount], sum[kCount];
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kCount; i++) n[i] = Round(x[i] * V::Set(C::kLog2E));
  EndStep(n);
  // Two fused multiply-adds subtract n·ln 2 with the error of the low part only.
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kCount; i++) r[i] = MultiplyAdd(n[i], V::Set(-C::kLn2High), x[i]);
  EndStep(r);
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kCount; i++) r[i] = MultiplyAdd(n[i], V::Set(-C::kLn2Low), r[i]);
  EndStep(r);
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kCount; i++) power[i] = PowerOfTwo(n[i]);
  EndStep(power);
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kCount; i++) sum[i] = V::Set(C::kPolynomial[0]);
  CUDNN_RNN_UNROLL
  for (size_t k = 1; k < sizeof C::kPolynomial / sizeof C::kPolynomial[0]; k++) {
    CUDNN_RNN_UNROLL
    for (int i = 0; i < kCount; i++) sum[i] = MultiplyAdd(sum[i], r[i], V::Set(C::kPolynomial[k]));
    EndStep(sum);
  }
  // e^r - 1 instead of e^r: near 0 the 1 would take the digits that tanh needs.
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kCount; i++) reduced[i] = MultiplyAdd(sum[i], r[i] * r[i], r[i]);
  EndStep(reduced);
}

// Min and Max return a NaN in their second operand, so a NaN in x passes through both.
template <typename V>
static inline V Clamp(V x, typename V::Element limit) {
  return Min(V::Set(limit), Max(V::Set(-limit), x));
}

template <typename V>
static inline V Exp(V x) {
  const V clamped[] = {Clamp(x, ExpConstants<typename V::Element>::kLimit)};
  V power[1], reduced[1];
  ReducedExp(clamped, power, reduced);
  return MultiplyAdd(reduced[0], power[0], power[0]);
}

// The first kSigmoids of x become their sigmoids, the others their hyperbolic tangents.
//
// Sigmoid: 1 / (1 + e^-x). For large |x| it is 1, or a number near e^x: never NaN from inf / inf, as e^-x stays finite.
//
// Hyperbolic tangent: (e^2|x| - 1) / (e^2|x| + 1) with the sign of x; e^2|x| - 1 keeps its digits if x is small.
// tanh is odd: |x| is computed and the sign copied, so tanh(-x) = -tanh(x) holds to the bit, and -0 stays -0. The limit
// is the first operand of Min, so a NaN in x passes.
template <int kSigmoids, typename V, int kCount>
static inline void Activate(V (&x)[kCount]) {
  using C = ExpConstants<typename V::Element>;
  V exponent[kCount], power[kCount], reduced[kCount];
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kCount; i++) {
    if (i < kSigmoids) {
      exponent[i] = Clamp(V::Set(0) - x[i], C::kLimit);
    } else {
      const V magnitude = Min(V::Set(C::kTanhLimit), Abs(x[i]));
      exponent[i] = magnitude + magnitude;
    }
  }
  ReducedExp(exponent, power, reduced);
  const V one = V::Set(1);
  CUDNN_RNN_UNROLL
  for (int i = 0; i < kCount; i++) {
    if (i < kSigmoids) {
      x[i] = one / (one + MultiplyAdd(reduced[i], power[i], power[i]));
    } else {
      const V minus_one = MultiplyAdd(reduced[i], power[i], power[i] - one);
      x[i] = CopySign(minus_one / (minus_one + V::Set(2)), x[i]);
    }
  }
}

template <typename V>
static inline V Sigmoid(V x) {
  V values[] = {x};
  Activate<1>(values);
  return values[0];
}

template <typename V>
static inline V Tanh(V x) {
  V values[] = {x};
  Activate<0>(values);
  return values[0];
}

}  // namespace
