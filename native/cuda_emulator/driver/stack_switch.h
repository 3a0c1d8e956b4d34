#pragma once

#include <cstddef>

namespace emulator {

/// A place in the execution of a stack that was left.
struct Suspended {
  void* place = nullptr;
};

/// Continues at `to` and stores the current position in `from`, for a later switch back.
void SwitchStack(Suspended& from, Suspended& to);

/// A new stack of `bytes` at `memory` that will begin in `entry`, which must never return.
Suspended PrepareStack(void* memory, std::size_t bytes, void (*entry)());

}  // namespace emulator
