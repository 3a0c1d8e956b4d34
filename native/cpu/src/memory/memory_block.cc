#include "memory/memory_block.h"

#include <cstdlib>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace cudnn_rnn {
namespace {

constexpr size_t kCacheLine = 64;
// With transparent huge pages one page fault maps 2 MiB instead of 4 KiB, and one entry of the TLB covers it. The
// kernel gives them to aligned ranges that ask: https://docs.kernel.org/admin-guide/mm/transhuge.html
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

MemoryBlock::MemoryBlock(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  // Small blocks need a cache line only: vector loads never straddle two lines then.
  const size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
#if defined(_WIN32)
  data_ = static_cast<char*>(_aligned_malloc(bytes, alignment));
#else
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) == 0) data_ = static_cast<char*>(memory);
#endif
  if (data_ == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  // Whole huge pages only: the last, partial one would be rounded up to 2 MiB of resident memory.
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

// Swaps: the other block frees the old memory.
MemoryBlock& MemoryBlock::operator=(MemoryBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace cudnn_rnn
