// VPDPBUSD of 256 bits for int8_byte_dots.h, in its encoding for processors without AVX-512 (Intel Intrinsics Guide,
// _mm256_dpbusd_avx_epi32).
#include "kernels/vector_avx2.h"
// The vectors come first: the kernels are written over them.
#include "kernels/int8_byte_dots.h"

namespace cudnn_rnn {
namespace {

struct Int8DotsAvxVnni {
  using Register = __m256i;
  // Within 16 registers: the sums, and one operand while the other passes by.
  static constexpr int kTileVectors[] = {8, 4, 2, 2, 2, 2};
  static constexpr int kTwoDigitTileVectors[] = {4, 2, 2};

  static __m256i Load(const uint32_t* words) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)); }
  static __m256i Set(uint32_t word) { return _mm256_set1_epi32(static_cast<int>(word)); }
  static void Add(__m256i* sums, __m256i x, __m256i weights) {
    *sums = _mm256_dpbusd_avx_epi32(*sums, x, weights);
    KeepInRegister(sums);
  }
  static void Zero(__m256i* sums) {
    *sums = _mm256_setzero_si256();
    KeepInRegister(sums);
  }
  static __m256i MinusTimes128(__m256i x) { return _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(x, 7)); }
  static __m256i Sum(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
  static VectorF32 ToFloat(__m256i x) { return {_mm256_cvtepi32_ps(x)}; }

 private:
  // For the reason in int8_dots_avx512.cc.
  static void KeepInRegister(__m256i* value) {
#if defined(__GNUC__)
    asm("" : "+x"(*value));
#endif
  }
};

}  // namespace

void ProductByAvxVnni(const PanelProduct<float>& p) { Int8ByteDots<VectorF32, Int8DotsAvxVnni>::Product(p); }

}  // namespace cudnn_rnn
