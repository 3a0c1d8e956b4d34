// Memory of passes and tapes: aligned for vectors, and kept for the next one of its size, as fresh pages cost more to
// touch than to compute on.
#ifndef CUDNN_RNN_CPU_MEMORY_BLOCK_H_
#define CUDNN_RNN_CPU_MEMORY_BLOCK_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace cudnn_rnn {

// Owned bytes, aligned to a cache line. Contents are undefined.
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

// Hands out the parts of a block one after another. Without a block it only measures.
class Arena {
 public:
  explicit Arena(char* data) : data_(data) {}

  template <typename T>
  T* Take(ptrdiff_t count) {
    T* part = data_ == nullptr ? nullptr : reinterpret_cast<T*>(data_ + used_);
    used_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return part;
  }
  size_t used() const { return used_; }

 private:
  char* data_;
  size_t used_ = 0;
};

// Blocks that were given back, for the next request of the same size. Thread-safe.
class BlockCache {
 public:
  static constexpr size_t kUnlimited = ~size_t{0};
  // Keeps no more bytes than this, and no more than a few blocks.
  explicit BlockCache(size_t kept_bytes = kUnlimited) : kept_bytes_(kept_bytes) {}
  MemoryBlock Take(size_t bytes);
  // A block for all that carve(Arena*) takes. It is called twice: the first time only to measure.
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
  std::mutex mutex_;
  std::vector<MemoryBlock> free_;  // oldest first
};

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_MEMORY_BLOCK_H_
