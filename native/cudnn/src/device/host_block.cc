#include "device/host_block.h"

#include <cstdlib>
#include <new>

namespace cudnn_rnn {
namespace {

/// A page: the unit in which memory is locked.
constexpr std::size_t kSmallest = 4096;
/// Page-locked memory cannot be swapped out, so the pool keeps a limited amount. Its allocation is expensive, so the
/// pool keeps some (CUDA C++ Best Practices Guide, "Pinned Memory").
constexpr std::size_t kMostKept = std::size_t{256} << 20;

/// Powers of two: a block fits every later transfer of its size class, at the cost of at most half its memory.
std::size_t CapacityFor(std::size_t bytes) {
  std::size_t capacity = kSmallest;
  while (capacity < bytes) capacity *= 2;
  return capacity;
}

HostBlock Pageable(std::size_t bytes) {
  void* data = std::malloc(bytes == 0 ? 1 : bytes);
  if (data == nullptr) throw std::bad_alloc();
  return {data, bytes, false};
}

}  // namespace

bool HostBlockPool::TakeKept(std::size_t capacity, HostBlock* block) {
  const std::lock_guard lock(mutex_);
  // Exact size class only: a larger block would be missing for its own class.
  auto found = kept_.find(capacity);
  if (found == kept_.end() || found->second.empty()) return false;
  *block = found->second.back();
  found->second.pop_back();
  kept_bytes_ -= capacity;
  return true;
}

HostBlockRef HostBlockPool::Share(HostBlock block) {
  // The last owner returns the block, on whichever thread that is: worker, waiter or JavaScript.
  return HostBlockRef(new HostBlock(block), [this](const HostBlock* shared) {
    Give(*shared);
    delete shared;
  });
}

HostBlockRef HostBlockPool::TakeWithoutCuda(std::size_t bytes) {
  HostBlock block;
  return Share(TakeKept(CapacityFor(bytes), &block) ? block : Pageable(bytes));
}

HostBlockRef HostBlockPool::Take(std::size_t bytes) {
  FreeSurplus();
  const std::size_t capacity = CapacityFor(bytes);
  HostBlock block;
  if (TakeKept(capacity, &block)) return Share(block);
  void* data = nullptr;
  if (libraries_.cudart.cudaMallocHost(&data, capacity) == 0 && data != nullptr) return Share({data, capacity, true});
  // Not an error of the caller: clears the status of the failed allocation, then falls back to pageable memory.
  libraries_.cudart.cudaGetLastError();
  return Share(Pageable(bytes));
}

void HostBlockPool::Give(const HostBlock& block) {
  // Pageable memory is cheap to allocate and is not kept.
  if (!block.pinned) return std::free(block.data);
  const std::lock_guard lock(mutex_);
  if (kept_bytes_ + block.capacity > kMostKept) return surplus_.push_back(block);
  kept_[block.capacity].push_back(block);
  kept_bytes_ += block.capacity;
}

void HostBlockPool::FreeSurplus() {
  const std::lock_guard lock(mutex_);
  // cudaFreeHost is a call of CUDA: Give() may run on JavaScript's thread, which has no device and must not wait.
  for (const HostBlock& block : surplus_) libraries_.cudart.cudaFreeHost(block.data);
  surplus_.clear();
}

void HostBlockPool::Clear() {
  FreeSurplus();
  const std::lock_guard lock(mutex_);
  for (auto& [capacity, blocks] : kept_) {
    for (HostBlock& block : blocks) libraries_.cudart.cudaFreeHost(block.data);
  }
  kept_.clear();
  kept_bytes_ = 0;
}

}  // namespace cudnn_rnn
