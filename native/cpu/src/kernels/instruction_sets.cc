#include "kernels/instruction_sets.h"

#include <stdint.h>

#if defined(CUDNN_RNN_NEON_DOTS)
#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(_WIN32)
// Not windows.h, whose macros reach the files that a unity build compiles with this one.
extern "C" __declspec(dllimport) int __stdcall IsProcessorFeaturePresent(unsigned long feature);
#endif
#elif defined(CUDNN_RNN_X86)
#if defined(CUDNN_RNN_AMX)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(_MSC_VER)
#include <immintrin.h>
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace cudnn_rnn {
namespace {

#if defined(CUDNN_RNN_X86)
struct Registers {
  uint32_t a, b, c, d;
};

// A part of a leaf of CPUID; zeros if the processor has none. Not __builtin_cpu_supports: its tables are in a run-time
// library that not every toolchain has, and whose absence a linker of macOS may leave to the day on which the addon is
// loaded.
#if defined(_MSC_VER)
Registers Leaf(int leaf, int part = 0) {
  int highest[4], registers[4];
  __cpuid(highest, 0);
  if (highest[0] < leaf) return {};
  __cpuidex(registers, leaf, part);
  return {static_cast<uint32_t>(registers[0]), static_cast<uint32_t>(registers[1]), static_cast<uint32_t>(registers[2]),
          static_cast<uint32_t>(registers[3])};
}
uint32_t SavedRegisters() { return static_cast<uint32_t>(_xgetbv(0)); }
#else
Registers Leaf(int leaf, int part = 0) {
  Registers registers = {};
  __get_cpuid_count(static_cast<unsigned>(leaf), static_cast<unsigned>(part), &registers.a, &registers.b, &registers.c,
                    &registers.d);
  return registers;
}
uint32_t SavedRegisters() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}
#endif

constexpr bool HasBits(uint32_t value, uint32_t bits) { return (value & bits) == bits; }

// CPUID leaves 1 and 7 list the processor's features, XCR0 the registers that the operating system saves at a context
// switch; an instruction set needs both. Bit numbers: Intel SDM vol. 1, 14.3 and 15.2 to 15.4
// (https://www.intel.com/content/www/us/en/developer/articles/technical/intel-sdm.html).
bool HasAvx2() {
  // FMA, OSXSAVE (without it XGETBV is not an instruction), AVX
  return HasBits(Leaf(1).c, 1u << 12 | 1u << 27 | 1u << 28) && HasBits(SavedRegisters(), 6) &&
         HasBits(Leaf(7).b, 1u << 5);
}

// AVX-VNNI, VPDPBUSD in the encoding of AVX2, of the second part of leaf 7; the rest is tested by HasAvx2().
bool HasAvxVnni() { return HasBits(Leaf(7, 1).a, 1u << 4); }

#if defined(CUDNN_RNN_AVX512)
bool HasAvx512() {
  // AVX512F, DQ, BW, VL
  return HasAvx2() && HasBits(SavedRegisters(), 0xe6) && HasBits(Leaf(7).b, 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31);
}

// AVX512_VNNI, for VPDPBUSD; the other requirements are tested by HasAvx512().
bool HasVnni() { return HasBits(Leaf(7).c, 1u << 11); }

// "GenuineIntel"
bool IsOfIntel() {
  const Registers vendor = Leaf(0);
  return vendor.b == 0x756e6547 && vendor.d == 0x49656e69 && vendor.c == 0x6c65746e;
}
#endif
#elif defined(CUDNN_RNN_NEON_DOTS)
// The operating system lists the processor's features: Linux by the bits of its arm64/elf_hwcaps.rst, macOS by name
// (https://developer.apple.com/documentation/kernel/1387446-sysctlbyname), Windows by the numbers of
// IsProcessorFeaturePresent. An older system that does not know a feature lacks it.
#if defined(__linux__)
bool HasDotProducts() { return (getauxval(AT_HWCAP) >> 20 & 1) != 0; }
bool HasMatrices() { return (getauxval(AT_HWCAP2) >> 13 & 3) == 3; }
#elif defined(__APPLE__)
bool Has(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}
bool HasDotProducts() { return Has("hw.optional.arm.FEAT_DotProd"); }
bool HasMatrices() { return Has("hw.optional.arm.FEAT_I8MM") && Has("hw.optional.arm.FEAT_BF16"); }
#elif defined(_WIN32)
bool HasDotProducts() { return IsProcessorFeaturePresent(43) != 0; }
bool HasMatrices() { return IsProcessorFeaturePresent(66) != 0 && IsProcessorFeaturePresent(68) != 0; }
#else
bool HasDotProducts() { return false; }
bool HasMatrices() { return false; }
#endif
#endif

#if defined(CUDNN_RNN_AMX)
// Whether a product by tiles is right: sums of small integers are exact. No machine of this project has AMX, so that
// its kernels are proved over an emulation alone.
bool MultipliesByTiles(void (*product)(const PanelProduct<float>&)) {
  constexpr int kRows = 2, kDepth = 70, kPairs = kDepth / 2;
  float a[kRows * kDepth], c[kRows * kChunk<float>];
  Bfloat16Pair panel[kPairs * kChunk<float>];
  for (int k = 0; k < kRows * kDepth; k++) a[k] = static_cast<float>(k % 5);
  // 1 and 2 in turns, in each column.
  for (Bfloat16Pair& pair : panel) pair.bits = 0x40003f80u;
  uint32_t words[kRows * kDepth];
  RowsCopy copy{0, nullptr, nullptr, words, false};
  PanelProduct<float> p{};
  p.a = a;
  p.a_stride = p.depth = kDepth;
  p.rows = kRows;
  p.panel = panel;
  p.panel_stride = p.c_stride = kChunk<float>;
  p.chunks = 1;
  p.rows_copy = &copy;
  p.version = 2;
  p.c = c;
  product(p);
  for (int row = 0; row < kRows; row++) {
    float sum = 0;
    for (int k = 0; k < kDepth; k++) sum += a[row * kDepth + k] * static_cast<float>(1 + k % 2);
    for (int column = 0; column < kChunk<float>; column++) {
      if (c[row * kChunk<float> + column] != sum) return false;
    }
  }
  return true;
}

// AMX-TILE and AMX-BF16, and its registers in XCR0. Linux 5.16 and later give them to a process by a request of
// ARCH_REQ_XCOMP_PERM of XTILEDATA, for all of its threads; it refuses if a thread's signal stack is too small for
// them (https://docs.kernel.org/arch/x86/xstate.html). It is requested once.
bool HasAmx() {
  static const bool has = HasBits(Leaf(7).d, 1u << 22 | 1u << 24) && HasBits(SavedRegisters(), 3u << 17) &&
                          syscall(SYS_arch_prctl, 0x1023, 18) == 0 && MultipliesByTiles(ProductByBfloat16Tiles);
  return has;
}
#endif

}  // namespace

#if defined(CUDNN_RNN_X86) && defined(CUDNN_RNN_AVX512)
// AVX512_BF16, of the second part of leaf 7. A processor that has it has VNNI too.
bool HasBfloat16() { return HasAvx512() && HasVnni() && HasBits(Leaf(7, 1).a, 1u << 5); }
#endif

// Best first. The portable table is always last, so the list is never empty. VNNI adds VPDPBUSD, which multiplies four
// pairs of bytes and adds them to an int32 lane (https://www.intel.com/content/www/us/en/docs/intrinsics-guide/).
//
// On Intel's cores VDPBF16PS takes four times as long as a multiply-add, for twice its arithmetic (Emerald Rapids:
// 0.735 and 0.173 ns), and products of rounded rows take less. AMD's do both at one rate. The vendor decides, not a
// measurement: results of one machine must not differ between runs.
std::vector<const Kernels*> SupportedKernels() {
  std::vector<const Kernels*> supported;
#if defined(CUDNN_RNN_X86)
#if defined(CUDNN_RNN_AVX512)
  if (HasAvx512() && HasVnni())
    supported.push_back(HasBfloat16() && !IsOfIntel() ? &kAvx512Bfloat16Kernels : &kAvx512VnniKernels);
  if (HasAvx512()) supported.push_back(&kAvx512Kernels);
#endif
  if (HasAvx2() && HasAvxVnni()) supported.push_back(&kAvx2VnniKernels);
  if (HasAvx2()) supported.push_back(&kAvx2Kernels);
#elif defined(CUDNN_RNN_NEON)
#if defined(CUDNN_RNN_NEON_DOTS)
  if (HasDotProducts() && HasMatrices()) supported.push_back(&kNeonMatrixKernels);
  if (HasDotProducts()) supported.push_back(&kNeonDotKernels);
#endif
  supported.push_back(&kNeonKernels);
#endif
  supported.push_back(&kPortableKernels);
  return supported;
}

const Kernels* WithTiles(const Kernels* kernels) {
#if defined(CUDNN_RNN_AMX)
  if (kernels == SupportedKernels().front() && HasBfloat16() && HasAmx()) return &kAmxBfloat16Kernels;
#endif
  return kernels;
}

}  // namespace cudnn_rnn
