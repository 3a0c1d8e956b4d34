#include "passes/dropout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "dense/philox.h"

namespace cudnn_rnn {
namespace {

constexpr uint64_t kSeed = 0x0123456789abcdef;

template <typename T>
std::vector<T> Mask(ptrdiff_t count, double rate, uint64_t position = 0, uint64_t seed = kSeed) {
  std::vector<T> values(static_cast<size_t>(count), T{1});
  ApplyDropout(values.data(), 0, count, rate, seed, position);
  return values;
}

TEST_CASE_TEMPLATE("ApplyDropout keeps everything at rate 0 and drops everything at rate 1", T, float, double) {
  CHECK(Mask<T>(37, 0) == std::vector<T>(37, T{1}));
  CHECK(Mask<T>(37, 1) == std::vector<T>(37, T{0}));
}

TEST_CASE_TEMPLATE("ApplyDropout scales kept elements by 1/(1 - rate)", T, float, double) {
  const std::vector<T> mask = Mask<T>(4096, 0.75);
  const auto kept = std::count(mask.begin(), mask.end(), T{4});
  CHECK(kept + std::count(mask.begin(), mask.end(), T{0}) == 4096);
  // 1024 are expected; the standard deviation is √(4096 · 0.75 · 0.25) = 28. The seed is fixed.
  CHECK(std::abs(static_cast<double>(kept) - 1024) < 5 * 28);
}

TEST_CASE("ApplyDropout gives the same mask in any parts") {
  const std::vector<float> whole = Mask<float>(101, 0.5);
  // Parts that begin within a block of four words.
  std::vector<float> parts(101, 1.0f);
  ptrdiff_t begin = 0;
  for (const ptrdiff_t end : {1, 2, 7, 7, 40, 99, 101}) {
    ApplyDropout(parts.data(), begin, end, 0.5, kSeed, 0);
    begin = end;
  }
  CHECK(parts == whole);
}

TEST_CASE("ApplyDropout draws element i at word position + i") {
  const std::vector<float> whole = Mask<float>(101, 0.5);
  for (const ptrdiff_t position : {1, 3, 4, 50}) {
    const std::vector<float> later = Mask<float>(101 - position, 0.5, static_cast<uint64_t>(position));
    CHECK(std::equal(later.begin(), later.end(), whole.begin() + position));
  }
}

// A mask of more than 2^34 words has positions whose block needs the second word of the counter.
TEST_CASE("ApplyDropout uses both halves of the block's number and of the seed") {
  constexpr uint64_t kPosition = (uint64_t{5} << 34) + 8;
  const uint32_t counter[4] = {2, 5, 0, 0};
  const uint32_t key[2] = {0x89abcdef, 0x01234567};
  uint32_t words[4];
  PhiloxBlock(counter, key, words);
  const std::vector<float> mask = Mask<float>(4, 0.5, kPosition);
  for (size_t k = 0; k < 4; k++) CHECK(mask[k] == (words[k] < 0x80000000 ? 0.0f : 2.0f));
}

}  // namespace
}  // namespace cudnn_rnn
