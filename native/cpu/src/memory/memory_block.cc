#include "memory/memory_block.h"

#include <cstdint>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace cudnn_rnn {
namespace {

constexpr size_t kCacheLine = 64;
#if defined(__wasm__)
// The engine chooses the pages.
constexpr size_t kHugePage = SIZE_MAX;
#else
// With transparent huge pages one page fault maps 2 MiB instead of 4 KiB, and one entry of the TLB covers it. The
// kernel gives them to aligned ranges that request them: https://docs.kernel.org/admin-guide/mm/transhuge.html
constexpr size_t kHugePage = size_t{2} << 20;
#endif

// Small blocks need a cache line only: vector loads never straddle two lines then.
std::align_val_t AlignmentOf(size_t bytes) { return std::align_val_t{bytes >= kHugePage ? kHugePage : kCacheLine}; }

}  // namespace

MemoryBlock::MemoryBlock(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
#if defined(__wasm__)
  // Traps if memory is short: a module is built without exceptions.
  data_ = static_cast<char*>(::operator new(bytes, AlignmentOf(bytes)));
#else
  // AddressSanitizer's operator without nothrow ends the process if memory is short.
  data_ = static_cast<char*>(::operator new(bytes, AlignmentOf(bytes), std::nothrow));
  if (data_ == nullptr) throw std::bad_alloc();
#endif
#if defined(__linux__)
  // Whole huge pages only: the last, partial one would be rounded up to 2 MiB of resident memory.
  if (bytes >= kHugePage) madvise(data_, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

MemoryBlock::~MemoryBlock() {
  if (data_ != nullptr) ::operator delete(data_, AlignmentOf(bytes_));
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
