// VPMADDWD for int8_pair_dots.h: sixteen products of 16-bit integers, added two by two to eight of 32 bits (Intel
// Intrinsics Guide, _mm256_madd_epi16). Included by the kernel files of AVX2 and AVX-512 only.
//
// Sixteen weights take three instructions: a load that widens bytes to 16 bits, the products, the sum. Conversion to
// float32 takes four for eight weights, which costs more than reading a quarter of the bytes saves.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/int8_group.h"

namespace {

struct Int8DotsAvx2 {
  // Two sums of each of four columns, side by side.
  using Sums = __m256i;
  using Weights = __m256i;
  static constexpr ptrdiff_t kColumns = 4;
  // Within 16 registers: the sums, one operand while the other passes by, and the products. The sums of one instruction
  // wait one cycle for the one before, so few of them suffice.
  static constexpr int kTileVectors[] = {8, 4, 2, 2, 2, 2};
  static constexpr int kPerLoad = 1;
  // Sixteen weights that lie side by side are four columns in four rows of the depth.
  static_assert(cudnn_rnn::kInt8GroupRows == 4);

  static __m256i Zeros() { return _mm256_setzero_si256(); }
  // Four numbers.
  static __m256i Broadcast(const int16_t* numbers) {
    return _mm256_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(numbers)));
  }
  static __m256i Load(const int8_t* weights) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
  }
  static __m256i AddDots(__m256i sums, __m256i w, __m256i x) {
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(w, x));
#if defined(__GNUC__)
    // g++ 12 multiplies all operands of a body before the first addition, which takes twice the registers.
    asm volatile("" : "+x"(sums));
#endif
    return sums;
  }

  // c = sums · scales · factor + init, init null for zeros.
  static void Store(__m256i sums, const float* scales, float factor, const float* init, float* c) {
    const __m128i columns = _mm_hadd_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    const __m128 scale = _mm_mul_ps(_mm_loadu_ps(scales), _mm_set1_ps(factor));
    const __m128 start = init == nullptr ? _mm_setzero_ps() : _mm_loadu_ps(init);
    _mm_storeu_ps(c, _mm_fmadd_ps(_mm_cvtepi32_ps(columns), scale, start));
  }
};

}  // namespace
