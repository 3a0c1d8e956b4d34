#pragma once

#include <sys/mman.h>

#include <memory>
#include <new>
#include <vector>

#include "driver/stack_switch.h"

namespace emulator {

/// A stack on which device threads run, and the place where it was left.
class Fiber {
 public:
  static constexpr std::size_t kStackBytes = 96 << 10;
  static constexpr std::size_t kColorBytes = 32 << 10;

  Fiber() : stack_(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (stack_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Fiber() { munmap(stack_, kStackBytes); }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Makes the fiber begin in `entry`, which must never return.
  void Prepare(void (*entry)()) { left = PrepareStack(stack_, kStackBytes - color_, entry); }

  Suspended left;
  unsigned thread = 0;
  enum { kIdle, kAtWarpBarrier, kAtBlockBarrier } waits = kIdle;

 private:
  /// Bytes left free at the top. If all stacks began at the same place of their pages, a grid's would compete for a few sets of
  /// the caches, and a switch would wait for memory.
  static std::size_t NextColor() {
    thread_local std::size_t color = 0;
    return color = (color + 17 * 64) % kColorBytes;
  }

  void* stack_;
  const std::size_t color_ = NextColor();
};

/// Stacks stay with the stream's thread: mapping a thousand of them for each block would take longer than the block.
inline std::vector<std::unique_ptr<Fiber>>& IdleFibers() {
  thread_local std::vector<std::unique_ptr<Fiber>> fibers;
  return fibers;
}

inline std::unique_ptr<Fiber> TakeFiber() {
  if (IdleFibers().empty()) return std::make_unique<Fiber>();
  auto fiber = std::move(IdleFibers().back());
  IdleFibers().pop_back();
  return fiber;
}

}  // namespace emulator
