#ifndef CUDNN_RNN_CPU_DROPOUT_H_
#define CUDNN_RNN_CPU_DROPOUT_H_

#include <cstddef>
#include <cstdint>

namespace cudnn_rnn {

// values[i] *= 0 or 1/(1-rate) for i in [begin, end): element i draws word `position` + i of Philox4x32-10 with the key
// `seed`, as packages/backend/src/philox.ts does, so that every executor on the host draws the same masks.
template <typename T>
void ApplyDropout(T* values, ptrdiff_t begin, ptrdiff_t end, double rate, uint64_t seed, uint64_t position);

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_DROPOUT_H_
