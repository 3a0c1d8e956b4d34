#pragma once

#include <cstddef>

namespace cudnn_rnn {

// Owned bytes, aligned to a cache line, and to a huge page if they fill one: 2 MiB pages need 512 times fewer entries
// of the TLB, and a matrix of H 1024 would exceed its 4 KiB entries. Contents are undefined.
class MemoryBlock {
 public:
  MemoryBlock() = default;
  explicit MemoryBlock(size_t bytes);  // throws std::bad_alloc
  ~MemoryBlock();
  MemoryBlock(MemoryBlock&& other) noexcept;
  MemoryBlock& operator=(MemoryBlock&& other) noexcept;

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  char* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace cudnn_rnn
