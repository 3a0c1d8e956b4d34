#include "dense/philox.h"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>

namespace cudnn_rnn {
namespace {

using Words = std::array<uint32_t, 4>;

Words Block(const Words& counter, uint32_t key0, uint32_t key1) {
  const uint32_t key[2] = {key0, key1};
  Words words;
  PhiloxBlock(counter.data(), key, words.data());
  return words;
}

// The lines "philox4x32 10" of kat_vectors in Random123 (https://github.com/DEShawResearch/random123).
TEST_CASE("PhiloxBlock gives the known answers of Random123") {
  CHECK(Block({0, 0, 0, 0}, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(Block({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(Block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("PhiloxBlock depends on every word of counter and key") {
  const Words base = Block({0, 0, 0, 0}, 0, 0);
  for (size_t word = 0; word < 4; word++) {
    Words counter{};
    counter[word] = 1;
    CHECK(Block(counter, 0, 0) != base);
  }
  CHECK(Block({0, 0, 0, 0}, 1, 0) != base);
  CHECK(Block({0, 0, 0, 0}, 0, 1) != base);
}

}  // namespace
}  // namespace cudnn_rnn
