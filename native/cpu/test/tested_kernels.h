// The kernels that a test runs on.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/instruction_sets.h"

namespace cudnn_rnn {

// Whether all cases run, with CUDNN_RNN_TESTS=all, as the nightly workflow sets it; else half of them, in which each
// pair of attributes occurs.
inline bool TestsEverything() {
  const char* extent = std::getenv("CUDNN_RNN_TESTS");
  return extent != nullptr && std::string(extent) == "all";
}

// All that the processor can run, for tests of products of reduced precision. With CUDNN_RNN_WITHOUT_PORTABLE_KERNELS=1
// only those that have their own instructions: scripts/testing/test_native.mjs sets it under an emulator, where the
// portable ones, which the builds for x86 run, take half of the time.
inline std::vector<const Kernels*> ReducedKernels() {
  std::vector<const Kernels*> kernels = SupportedKernels();
  if (std::getenv("CUDNN_RNN_WITHOUT_PORTABLE_KERNELS") != nullptr && kernels.size() > 1) kernels.pop_back();
#if defined(CUDNN_RNN_X86) && defined(CUDNN_RNN_AVX512)
  if (HasBfloat16() && kernels.front() != &kAvx512Bfloat16Kernels) kernels.push_back(&kAvx512Bfloat16Kernels);
#endif
  return kernels;
}

// One set of each result of `product`, for sets that differ in other products alone.
template <typename Product>
std::vector<const Kernels*> KernelsOfEach(const Product& product) {
  std::vector<const Kernels*> tested;
  for (const Kernels* kernels : ReducedKernels()) {
    bool is_new = true;
    for (const Kernels* other : tested) is_new = is_new && product(other->f32) != product(kernels->f32);
    if (is_new) tested.push_back(kernels);
  }
  return tested;
}

// For tests of products of rounded factors.
inline std::vector<const Kernels*> RoundingKernels() {
  return KernelsOfEach([](const KernelTable<float>& table) { return table.bfloat16.product; });
}

// One set of each vectors, for all other tests.
inline std::vector<const Kernels*> TestedKernels() {
  return KernelsOfEach([](const KernelTable<float>& table) { return table.product; });
}

}  // namespace cudnn_rnn
