#pragma once

#include <cstdint>

namespace cudnn_rnn {

// Philox4x32-10, a counter-based generator: a block of four words is a function of key and counter, so any thread can
// draw any part of a mask (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC11,
// https://www.thesalmons.org/john/random123/papers/random123sc11.pdf). TensorFlow and cuRAND have the same generator.
//
// Ten rounds of two 32 x 32 → 64 bit multiplications: the high halves are mixed with the other words and the key, the
// low halves pass on. Multipliers and key increments (the golden ratio and √3 - 1 in 32 bits): Salmon et al. 2011.
inline void PhiloxBlock(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]) {
  uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
  uint32_t key0 = key[0], key1 = key[1];
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

}  // namespace cudnn_rnn
