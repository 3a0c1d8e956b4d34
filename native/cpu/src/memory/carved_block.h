#pragma once

#include <algorithm>

#include "memory/arena.h"
#include "memory/memory_block.h"

namespace cudnn_rnn {

// A block of zeros for everything that `carve(Arena*)` takes. `carve` runs twice, the first time only to measure.
template <typename Carve>
MemoryBlock CarvedBlock(const Carve& carve) {
  Arena measure(nullptr);
  carve(&measure);
  MemoryBlock block(measure.used());
  std::fill_n(block.data(), measure.used(), char{0});
  Arena arena(block.data());
  carve(&arena);
  return block;
}

}  // namespace cudnn_rnn
