#include "passes/dropout.h"

namespace cudnn_rnn {
namespace {

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC'11).
void PhiloxBlock(uint64_t block, uint64_t seed, uint32_t words[4]) {
  uint32_t x0 = static_cast<uint32_t>(block), x1 = static_cast<uint32_t>(block >> 32), x2 = 0, x3 = 0;
  uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t product0 = uint64_t{0xd2511f53} * x0;
    const uint64_t product1 = uint64_t{0xcd9e8d57} * x2;
    x0 = static_cast<uint32_t>(product1 >> 32) ^ x1 ^ key0;
    x1 = static_cast<uint32_t>(product1);
    x2 = static_cast<uint32_t>(product0 >> 32) ^ x3 ^ key1;
    x3 = static_cast<uint32_t>(product0);
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
  words[0] = x0;
  words[1] = x1;
  words[2] = x2;
  words[3] = x3;
}

}  // namespace

template <typename T>
void ApplyDropout(T* values, ptrdiff_t begin, ptrdiff_t end, double rate, uint64_t seed, uint64_t position) {
  const T kept = rate == 1 ? T{0} : static_cast<T>(1 / (1 - rate));
  uint32_t words[4] = {};
  uint64_t drawn = UINT64_MAX;
  for (ptrdiff_t i = begin; i < end; i++) {
    const uint64_t word = position + static_cast<uint64_t>(i);
    if (word / 4 != drawn) PhiloxBlock(drawn = word / 4, seed, words);
    const double uniform = (words[word % 4] >> 8) * 0x1p-24;
    values[i] *= uniform < rate ? T{0} : kept;
  }
}

template void ApplyDropout(float*, ptrdiff_t, ptrdiff_t, double, uint64_t, uint64_t);
template void ApplyDropout(double*, ptrdiff_t, ptrdiff_t, double, uint64_t, uint64_t);

}  // namespace cudnn_rnn
