// The kernels that a test runs on.
#pragma once

#include <cstdlib>
#include <vector>

#include "kernels/instruction_sets.h"

namespace cudnn_rnn {

// All that the processor can run. With CUDNN_RNN_WITHOUT_PORTABLE_KERNELS=1 only those that have their own
// instructions: scripts/testing/test_native.mjs sets it under an emulator, where the portable ones, which the builds
// for x86 run, take half of the time.
inline std::vector<const Kernels*> TestedKernels() {
  std::vector<const Kernels*> kernels = SupportedKernels();
  if (std::getenv("CUDNN_RNN_WITHOUT_PORTABLE_KERNELS") != nullptr && kernels.size() > 1) kernels.pop_back();
#if defined(CUDNN_RNN_X86) && defined(CUDNN_RNN_AVX512)
  if (HasBfloat16() && kernels.front() != &kAvx512Bfloat16Kernels) kernels.push_back(&kAvx512Bfloat16Kernels);
#endif
  return kernels;
}

}  // namespace cudnn_rnn
