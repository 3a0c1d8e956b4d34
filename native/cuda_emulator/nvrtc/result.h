#pragma once

#include "abi/nvrtc.h"
#include "core/entry.h"

namespace emulator {

/// NVRTC itself needs no GPU, but nothing of the emulator works if it is not enabled.
constexpr EntryRules kNvrtc{NVRTC_ERROR_INTERNAL_ERROR, NVRTC_ERROR_INTERNAL_ERROR, 0};

}  // namespace emulator
