// Dropout of layers; passes/dropout.h is that between the layers of a recurrent network.
#pragma once

#include <algorithm>

#include "dense/dense_ops.h"
#include "dense/operations.h"
#include "dense/philox.h"

namespace cudnn_rnn {

// dropout: y, x; count, seed low, seed high, draw low, draw high, threshold, kept
// Element k draws word k % 4 of block ⌊k/4⌋ of Philox4x32-10, with the number of the mask in the other half of the
// counter, so the backward computes the mask again instead of storing it, on any number of threads.
// An element is dropped if the upper 24 bits of its word are below `threshold`, rate·2^24. `draw` is the number of the
// mask, so every call has its own.
template <typename T>
void LayerDropout(const Engine<T>& engine, const OperationOperands<T>& on) {
  T* y = on.data[0];
  const T* x = on.data[1];
  const uint32_t key[2] = {static_cast<uint32_t>(on.numbers[1]), static_cast<uint32_t>(on.numbers[2])};
  // packages/ops/src/executor/operations, DropoutMask.
  const uint32_t draw[2] = {static_cast<uint32_t>(on.numbers[3]), (1u << 25) + static_cast<uint32_t>(on.numbers[4])};
  const auto threshold = static_cast<uint32_t>(on.numbers[5]);
  // Inverted dropout (Srivastava et al. 2014): kept elements are scaled by 1/(1 - rate), so inference needs no scaling.
  const T kept = static_cast<T>(on.numbers[6]);
  static_assert(kElementwisePart % 4 == 0, "parts begin with a block of the generator");
  ForEach(engine, on.size(0), kElementwisePart, [&](ptrdiff_t begin, ptrdiff_t end) {
    uint32_t words[4] = {};
    for (ptrdiff_t k = begin; k < end; k++) {
      if (k % 4 == 0) {
        const auto block = static_cast<uint64_t>(k) / 4;
        const uint32_t counter[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), draw[0],
                                     draw[1]};
        PhiloxBlock(counter, key, words);
      }
      // 24 bits are the precision of a float32 in [0, 1): the same masks as executors that compare floats.
      y[k] = (words[k % 4] >> 8) < threshold ? T{0} : x[k] * kept;
    }
  });
}

}  // namespace cudnn_rnn
