#pragma once

#include <cstddef>
#include <string>

#include "abi/cudnn.h"
#include "core/settings.h"

namespace emulator {

/// cudnnGetVersion: major·10000 + minor·100 + patch from 9 on, major·1000 + … before.
inline std::size_t CudnnVersion() {
  return static_cast<std::size_t>(SpoofedVersion("cudnn", EMULATOR_CUDNN_MAJOR >= 9 ? 92400 : 8907));
}

/// The version a sub-library was built as: another one than cudnnGetVersion's stands for a foreign library.
inline std::size_t SublibraryVersion(const std::string& library) {
  return static_cast<std::size_t>(SpoofedVersion(library, static_cast<long>(CudnnVersion())));
}

}  // namespace emulator
