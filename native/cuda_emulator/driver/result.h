#pragma once

#include "abi/driver.h"
#include "core/entry.h"

namespace emulator {

/// The driver's answers if it cannot work: no GPU, a process that ends, a broken device.
constexpr EntryRules kDriver{CUDA_ERROR_NO_DEVICE, 4, -1};

/// Like kDriver, for calls that a broken device still answers.
constexpr EntryRules kDriverAlways{CUDA_ERROR_NO_DEVICE, 4, 0};

}  // namespace emulator
