// The kernels that a test runs on.
#pragma once

#include <cstdlib>
#include <vector>

#include "kernels/instruction_sets.h"

namespace cudnn_rnn {

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

// One set of each vectors, for all other tests: sets of the same vectors differ in those products alone.
inline std::vector<const Kernels*> TestedKernels() {
  std::vector<const Kernels*> tested;
  for (const Kernels* kernels : ReducedKernels()) {
    bool is_new = true;
    for (const Kernels* other : tested) is_new = is_new && other->f32.product != kernels->f32.product;
    if (is_new) tested.push_back(kernels);
  }
  return tested;
}

}  // namespace cudnn_rnn
