#pragma once

#include <vector>

#include "kernels/kernels.h"

namespace cudnn_rnn {

// The kernels that this processor can run, fastest first; the portable ones are always last.
std::vector<const Kernels*> SupportedKernels();

}  // namespace cudnn_rnn
