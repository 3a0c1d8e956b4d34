#pragma once

#include <vector>

#include "kernels/kernels.h"

namespace cudnn_rnn {

// The kernels that this processor can run, fastest first; the portable ones are always last.
std::vector<const Kernels*> SupportedKernels();

// The kernels of an executor that rounds products to bfloat16: the same ones, or others of the same name with AMX
// tiles. Only such executors call it: the first call requests the tiles from Linux, and from then on every thread of
// the process needs larger signal stacks.
const Kernels* WithTiles(const Kernels* kernels);

#if defined(CUDNN_RNN_X86) && defined(CUDNN_RNN_AVX512)
// Whether this processor can run kAvx512Bfloat16Kernels, which SupportedKernels has only if they are faster.
bool HasBfloat16();
#endif

}  // namespace cudnn_rnn
