#include "memory_block.h"

#include <cstdlib>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace cudnn_rnn {
namespace {

constexpr size_t kCacheLine = 64;
// Transparent huge pages save nearly all page faults of large blocks.
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kKeptBlocks = 8;

}  // namespace

MemoryBlock::MemoryBlock(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
#if defined(_WIN32)
  data_ = static_cast<char*>(_aligned_malloc(bytes, alignment));
#else
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) == 0) data_ = static_cast<char*>(memory);
#endif
  if (data_ == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (alignment == kHugePage) madvise(data_, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

MemoryBlock::~MemoryBlock() {
#if defined(_WIN32)
  _aligned_free(data_);
#else
  std::free(data_);
#endif
}

MemoryBlock::MemoryBlock(MemoryBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryBlock& MemoryBlock::operator=(MemoryBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryBlock BlockCache::Take(size_t bytes) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (MemoryBlock& block : free_) {
      if (block.bytes() != bytes) continue;
      MemoryBlock found = std::move(block);
      std::swap(block, free_.back());
      free_.pop_back();
      return found;
    }
  }
  return MemoryBlock(bytes);
}

void BlockCache::GiveBack(MemoryBlock block) {
  if (block.bytes() == 0) return;
  // Unmapped after the lock is released.
  std::vector<MemoryBlock> dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(block));
  size_t bytes = 0;
  for (const MemoryBlock& kept : free_) bytes += kept.bytes();
  while (free_.size() > kKeptBlocks || bytes > kept_bytes_) {
    bytes -= free_.front().bytes();
    dropped.push_back(std::move(free_.front()));
    free_.erase(free_.begin());
  }
}

}  // namespace cudnn_rnn
