// VPDPBUSD of 512 bits for int8_byte_dots.h: four unsigned by four signed bytes, added to an int32, in each of 16 lanes
// (Intel Intrinsics Guide, _mm512_dpbusd_epi32).
#include "kernels/vector_avx512.h"
// The vectors come first: the kernels are written over them.
#include "kernels/int8_byte_dots.h"

namespace cudnn_rnn {
namespace {

struct Int8DotsAvx512 {
  using Register = __m512i;
  // Within 32 registers: the sums, 4 weights and the numbers of a row. Three rows of two digits would have 24 sums,
  // with 4 weights, 2 digits and the offsets more.
  static constexpr int kTileVectors[] = {4, 4, 4, 4, 4, 4};
  static constexpr int kTwoDigitTileVectors[] = {4, 4};
  static constexpr ptrdiff_t kLanes = 16;

  static __m512i Load(const uint32_t* words) { return _mm512_loadu_si512(words); }
  static __m512i Set(uint32_t word) { return _mm512_set1_epi32(static_cast<int>(word)); }
  static void Add(__m512i* sums, __m512i x, __m512i weights) {
    *sums = _mm512_dpbusd_epi32(*sums, x, weights);
    KeepInRegister(sums);
  }
  static void Zero(__m512i* sums) {
    *sums = _mm512_setzero_si512();
    KeepInRegister(sums);
  }
  static __m512i MinusTimes128(__m512i x) { return _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(x, 7)); }
  static __m512i Sum(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
  static VectorF32 ToFloat(__m512i x) { return {_mm512_cvtepi32_ps(x)}; }

  // Takes the maximum as integers: positive floats order as their bit patterns do, and NaN and infinity have the
  // largest patterns.
  static float LargestMagnitude(const float* a, ptrdiff_t count) {
    const __m512i magnitude = _mm512_set1_epi32(INT32_MAX);
    __m512i largest = _mm512_setzero_si512();
    for (ptrdiff_t k = 0; k < count; k += kLanes) {
      const __m512i bits = _mm512_castps_si512(LoadFirst(a + k, count - k));
      largest = _mm512_max_epi32(largest, _mm512_and_si512(bits, magnitude));
    }
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(_mm512_reduce_max_epi32(largest))));
  }

  // VCVTPS2DQ rounds to nearest even. The offset makes every number positive.
  static void StoreDigits(const float* a, ptrdiff_t count, float factor, uint32_t* low, uint32_t* high) {
    const __m512i offset = _mm512_set1_epi32(high == nullptr ? 128 : 32768);
    for (ptrdiff_t k = 0; k < count; k += kLanes) {
      const __m512 x = _mm512_mul_ps(LoadFirst(a + k, count - k), _mm512_set1_ps(factor));
      const __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(x), offset);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(low + k / 4), _mm512_cvtepi32_epi8(q));
      if (high == nullptr) continue;
      _mm_storeu_si128(reinterpret_cast<__m128i*>(high + k / 4), _mm512_cvtepi32_epi8(_mm512_srli_epi32(q, 8)));
    }
  }

 private:
  // Zeros past the first `count`.
  static __m512 LoadFirst(const float* a, ptrdiff_t count) {
    return _mm512_maskz_loadu_ps(count >= kLanes ? 0xffff : static_cast<__mmask16>((1u << count) - 1), a);
  }
  // g++ 12 copies sums back and forth, and stores those that begin with equal values in every step.
  static void KeepInRegister(__m512i* value) {
#if defined(__GNUC__)
    asm("" : "+v"(*value));
#endif
  }
};

}  // namespace

void ProductByInt8Dots(const PanelProduct<float>& p) { Int8ByteDots<VectorF32, Int8DotsAvx512>::Product(p); }

}  // namespace cudnn_rnn
