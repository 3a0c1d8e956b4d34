#include "core/live_objects.h"

#include <atomic>

namespace emulator {

std::uintptr_t NextHandleValue() {
  // Far from any address that a process can have, and never the same twice.
  static std::atomic<std::uintptr_t> next{0x5f00'0000'0000'0000u};
  return next += 16;
}

}  // namespace emulator
