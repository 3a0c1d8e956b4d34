#pragma once

#include <cstdint>

namespace cudnn_rnn {

// One block of Philox4x32-10: 128 random bits, a pure function of counter and key. Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3" (SC'11).
void PhiloxBlock(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]);

}  // namespace cudnn_rnn
