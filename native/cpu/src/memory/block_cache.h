// Recycled memory of passes, tapes and results. The operating system zeroes a fresh page of 4 KiB at its first touch,
// in the time of some ten thousand multiply-adds. A training loop requests the same sizes at every step, so a block
// that is given back serves the next request of its size.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "memory/arena.h"
#include "memory/memory_block.h"

namespace cudnn_rnn {

// Thread-safe.
class BlockCache {
 public:
  static constexpr size_t kUnlimited = ~size_t{0};

  // An executor rarely alternates between more sizes of scratch memory.
  static constexpr size_t kFewBlocks = 8;

  // Keeps at most `kept_blocks` blocks and `kept_bytes` in them; the oldest are freed first.
  explicit BlockCache(size_t kept_bytes = kUnlimited, size_t kept_blocks = kFewBlocks)
      : kept_bytes_(kept_bytes), kept_blocks_(kept_blocks) {}

  // A kept block of exactly `bytes`, or a new one. Throws std::bad_alloc.
  MemoryBlock Take(size_t bytes);

  // A block for everything that `carve(Arena*)` takes. `carve` runs twice, the first time only to measure.
  template <typename Carve>
  MemoryBlock TakeFor(const Carve& carve) {
    Arena measure(nullptr);
    carve(&measure);
    MemoryBlock block = Take(measure.used());
    Arena arena(block.data());
    carve(&arena);
    return block;
  }

  void GiveBack(MemoryBlock block);

 private:
  const size_t kept_bytes_;
  const size_t kept_blocks_;
  std::mutex mutex_;
  std::vector<MemoryBlock> free_;  // oldest first
};

}  // namespace cudnn_rnn
