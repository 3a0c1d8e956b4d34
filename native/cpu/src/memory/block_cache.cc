#include "memory/block_cache.h"

#include <algorithm>
#include <utility>

namespace cudnn_rnn {

// A new mapping costs a page fault for every 4 KiB at its first use; a block that was used before has its pages.
MemoryBlock BlockCache::Take(size_t bytes) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    // Linear search is cheap over so few. Exact sizes: a larger block would hide its surplus from kept_bytes, and
    // repeated steps request equal sizes.
    const auto kept = std::find_if(free_.begin(), free_.end(), [&](const auto& each) { return each.bytes() == bytes; });
    if (kept != free_.end()) {
      MemoryBlock found = std::move(*kept);
      // Not a swap with the last: the order of age stays.
      free_.erase(kept);
      return found;
    }
  }
  return MemoryBlock(bytes);
}

void BlockCache::GiveBack(MemoryBlock block) {
  if (block.bytes() == 0) return;
  // Declared before the lock, so destroyed after it: unmapping large blocks takes long and needs no lock.
  std::vector<MemoryBlock> dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(block));
  size_t bytes = 0;
  for (const MemoryBlock& kept : free_) bytes += kept.bytes();
  while (free_.size() > kept_blocks_ || bytes > kept_bytes_) {
    bytes -= free_.front().bytes();
    dropped.push_back(std::move(free_.front()));
    free_.erase(free_.begin());
  }
}

}  // namespace cudnn_rnn
