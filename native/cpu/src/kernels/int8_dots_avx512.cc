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

 private:
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
