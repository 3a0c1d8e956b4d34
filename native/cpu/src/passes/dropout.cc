#include "passes/dropout.h"

#include "dense/philox.h"

namespace cudnn_rnn {

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

template void ApplyDropout(float*, ptrdiff_t, ptrdiff_t, double, uint64_t, uint64_t);
template void ApplyDropout(double*, ptrdiff_t, ptrdiff_t, double, uint64_t, uint64_t);

}  // namespace cudnn_rnn
