// Layers side by side: in a forward pass layer l computes time block k while layer l - 1 computes block k + 1, in a
// backward pass while layer l + 1 computes block k - 1. Appleyard, Kočiský and Blunsom 2016, "Optimizing Performance of
// Recurrent Neural Networks on GPUs", 3.3 (https://arxiv.org/abs/1604.01946).
#pragma once

#include <algorithm>
#include <cstddef>

#include "weights/divide_up.h"
#include "weights/network.h"

namespace cudnn_rnn {

// Multiplications and additions of a forward step of one pseudo-layer.
template <typename T>
double StepOperations(const Network<T>& network, ptrdiff_t batch) {
  return 2.0 * batch * network.gates() * network.options().units * network.columns();
}

// A wavefront pays if threads that share every step would spend it on waiting for each other: as long as a step is
// brief, and the weights of a layer (256 Ki elements, 1 MiB in float32) stay in the second-level cache of the one core
// that has it. A second direction would need the layer below to be complete.
template <typename T>
bool IsWavefront(const Network<T>& network, ptrdiff_t batch) {
  constexpr double kOperations = 4e6;
  constexpr ptrdiff_t kWeights = 1 << 18;
  return network.options().directions == 1 && network.options().layers > 1 &&
         StepOperations(network, batch) <= kOperations &&
         network.gates() * network.options().units * network.columns() <= kWeights;
}

// How far a layer is ahead of the next one: enough rows for two tiles of the input product, and so many steps at least
// that threads synchronize rarely. The pipeline takes layers - 1 blocks to fill, so longer blocks cost more at both
// ends.
inline ptrdiff_t WavefrontSteps(ptrdiff_t batch) {
  constexpr ptrdiff_t kRows = 12;
  constexpr ptrdiff_t kSteps = 4;
  return std::max(kSteps, DivideUp(kRows, batch));
}

}  // namespace cudnn_rnn
