#pragma once

#include <optional>

namespace emulator {

/// The statuses that a library returns when it cannot run a function.
struct EntryRules {
  int no_device;     ///< the emulator is not enabled, or has no GPU: no GPU here
  int unloading;     ///< the process is ending
  int device_error;  ///< the device is broken; 0 lets the call pass, -1 returns the device's own error
};

/// The first thing every emulated function does: counts the call and returns the status with which it must fail, if
/// any.
std::optional<int> Enter(const char* symbol, const EntryRules& rules);

}  // namespace emulator

/// Fails the calling function if `Enter` fails.
#define EMULATOR_ENTER(rules) \
  if (const auto failure = ::emulator::Enter(__func__, rules)) return *failure
