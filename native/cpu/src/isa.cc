#include "isa.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <thread>
#include <utility>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(_MSC_VER) && defined(CUDNN_RNN_X86)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace cudnn_rnn {
namespace {

#if defined(CUDNN_RNN_X86)
#if defined(_MSC_VER)
bool HasBits(int value, int bits) { return (value & bits) == bits; }

// Leaf 7 says what the processor has, XCR0 which registers the operating system saves.
bool HasAvx2() {
  int leaf1[4], leaf7[4];
  __cpuid(leaf1, 1);
  __cpuidex(leaf7, 7, 0);
  return HasBits(leaf1[2], 1 << 27 | 1 << 28 | 1 << 12) && HasBits(static_cast<int>(_xgetbv(0)), 6) &&
         HasBits(leaf7[1], 1 << 5);
}

bool HasAvx512() {
  int leaf7[4];
  __cpuidex(leaf7, 7, 0);
  // F, DQ, BW, VL
  return HasAvx2() && HasBits(static_cast<int>(_xgetbv(0)), 0xe6) &&
         HasBits(leaf7[1], 1 << 16 | 1 << 17 | 1 << 30 | static_cast<int>(1u << 31));
}

bool HasVnni() {
  int leaf7[4];
  __cpuidex(leaf7, 7, 0);
  return HasBits(leaf7[2], 1 << 11);
}
#else
bool HasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

bool HasVnni() { return __builtin_cpu_supports("avx512vnni"); }
#endif
#endif

#if defined(__linux__)
// Without iostreams, whose static library asks for a newer glibc.
void ReadNumber(const std::string& file, int* number) {
  std::FILE* stream = std::fopen(file.c_str(), "r");
  if (stream == nullptr) return;
  if (std::fscanf(stream, "%d", number) != 1) *number = -1;
  std::fclose(stream);
}
#endif

int LogicalCores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

}  // namespace

std::vector<const Kernels*> SupportedKernels() {
  std::vector<const Kernels*> supported;
#if defined(CUDNN_RNN_X86)
  if (HasAvx512() && HasVnni()) supported.push_back(&kAvx512VnniKernels);
  if (HasAvx512()) supported.push_back(&kAvx512Kernels);
  if (HasAvx2()) supported.push_back(&kAvx2Kernels);
#elif defined(CUDNN_RNN_NEON)
  supported.push_back(&kNeonKernels);
#endif
  supported.push_back(&kPortableKernels);
  return supported;
}

int PhysicalCores() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return LogicalCores();
  std::set<std::pair<int, int>> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    int package = -1, core = -1;
    ReadNumber(folder + "physical_package_id", &package);
    ReadNumber(folder + "core_id", &core);
    if (core < 0) return std::max(1, CPU_COUNT(&allowed));
    cores.insert({package, core});
  }
  return std::max(1, static_cast<int>(cores.size()));
#else
  return LogicalCores();
#endif
}

}  // namespace cudnn_rnn
