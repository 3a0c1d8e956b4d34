#include "kernels/instruction_sets.h"

#if defined(_MSC_VER) && defined(CUDNN_RNN_X86)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace cudnn_rnn {
namespace {

#if defined(CUDNN_RNN_X86)
#if defined(_MSC_VER)
bool HasBits(int value, int bits) { return (value & bits) == bits; }

// CPUID leaves 1 and 7 list the processor's features, XCR0 the registers that the operating system saves at a context
// switch; an instruction set needs both. Bit numbers: Intel SDM vol. 1, 14.3 and 15.2 to 15.4
// (https://www.intel.com/content/www/us/en/developer/articles/technical/intel-sdm.html).
bool HasAvx2() {
  int leaf1[4], leaf7[4];
  __cpuid(leaf1, 1);
  __cpuidex(leaf7, 7, 0);
  return HasBits(leaf1[2], 1 << 27 | 1 << 28 | 1 << 12) && HasBits(static_cast<int>(_xgetbv(0)), 6) &&
         HasBits(leaf7[1], 1 << 5);
}

#if defined(CUDNN_RNN_AVX512)
bool HasAvx512() {
  int leaf7[4];
  __cpuidex(leaf7, 7, 0);
  // AVX512F, DQ, BW, VL
  return HasAvx2() && HasBits(static_cast<int>(_xgetbv(0)), 0xe6) &&
         HasBits(leaf7[1], 1 << 16 | 1 << 17 | 1 << 30 | static_cast<int>(1u << 31));
}

// AVX512_VNNI, for VPDPBUSD; the other requirements are tested by HasAvx512().
bool HasVnni() {
  int leaf7[4];
  __cpuidex(leaf7, 7, 0);
  return HasBits(leaf7[2], 1 << 11);
}
#endif
#else
// The compilers' run-time checks include XCR0.
bool HasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#if defined(CUDNN_RNN_AVX512)
bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

bool HasVnni() { return __builtin_cpu_supports("avx512vnni"); }
#endif
#endif
#endif

}  // namespace

// Best first. The portable table is always last, so the list is never empty. VNNI adds VPDPBUSD, which multiplies four
// pairs of bytes and adds them to an int32 lane (https://www.intel.com/content/www/us/en/docs/intrinsics-guide/).
std::vector<const Kernels*> SupportedKernels() {
  std::vector<const Kernels*> supported;
#if defined(CUDNN_RNN_X86)
#if defined(CUDNN_RNN_AVX512)
  if (HasAvx512() && HasVnni()) supported.push_back(&kAvx512VnniKernels);
  if (HasAvx512()) supported.push_back(&kAvx512Kernels);
#endif
  if (HasAvx2()) supported.push_back(&kAvx2Kernels);
#elif defined(CUDNN_RNN_NEON)
  supported.push_back(&kNeonKernels);
#endif
  supported.push_back(&kPortableKernels);
  return supported;
}

}  // namespace cudnn_rnn
