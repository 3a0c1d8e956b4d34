#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "threads/shared_loops.h"
#include "weights/divide_up.h"

namespace cudnn_rnn {

// values[i] *= 0 or 1/(1-rate) for i in [begin, end): element i draws word `position` + i of Philox4x32-10 with the key
// `seed`, as packages/ops/src/executor/philox.ts does, so that every executor on the host draws the same masks.
template <typename T>
void ApplyDropout(T* values, ptrdiff_t begin, ptrdiff_t end, double rate, uint64_t seed, uint64_t position);

// Elements of a mask drawn at once; a multiple of a block of the generator.
inline constexpr ptrdiff_t kDropoutPart = 1 << 14;

// The same in parts. Every thread must call this.
template <typename T>
void ShareDropout(SharedLoops::Member* all, T* values, ptrdiff_t begin, ptrdiff_t end, double rate, uint64_t seed,
                  uint64_t position) {
  const ptrdiff_t first = begin / kDropoutPart;
  all->Run(DivideUp(end, kDropoutPart) - first, [&](ptrdiff_t item) {
    const ptrdiff_t part = (first + item) * kDropoutPart;
    ApplyDropout(values, std::max(begin, part), std::min(end, part + kDropoutPart), rate, seed, position);
  });
}

}  // namespace cudnn_rnn
