#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dense/philox.h"
#include "threads/shared_loops.h"
#include "weights/divide_up.h"

namespace cudnn_rnn {

// values[i] *= 0 or 1/(1-rate) for i in [begin, end): element i draws word `position` + i of Philox4x32-10 with the key
// `seed`, as packages/ops/src/executor/philox.ts does, so that every executor on the host draws the same masks.
// Any range gives the same mask: an element's word depends on its position alone. So threads may take any parts, and
// the backward draws the mask of the forward again instead of storing it.
template <typename T>
void ApplyDropout(T* values, ptrdiff_t begin, ptrdiff_t end, double rate, uint64_t seed, uint64_t position) {
  // Inverted dropout: the expectation of each value stays the same. At rate 1 all are dropped, and 1/(1 - rate) is not
  // formed.
  const T kept = rate == 1 ? T{0} : static_cast<T>(1 / (1 - rate));
  const uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  uint32_t words[4] = {};
  uint64_t drawn = UINT64_MAX;
  for (ptrdiff_t i = begin; i < end; i++) {
    const uint64_t word = position + static_cast<uint64_t>(i);
    if (word / 4 != drawn) {
      drawn = word / 4;
      const uint32_t counter[4] = {static_cast<uint32_t>(drawn), static_cast<uint32_t>(drawn >> 32), 0, 0};
      PhiloxBlock(counter, key, words);
    }
    // 24 bits: a float32 in [0, 1) as other executors draw it.
    const double uniform = (words[word % 4] >> 8) * 0x1p-24;
    values[i] *= uniform < rate ? T{0} : kept;
  }
}

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
