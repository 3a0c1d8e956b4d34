#pragma once

#include "abi/cudart.h"
#include "core/entry.h"

namespace emulator {

/// The runtime's answers if it cannot work: no driver, a process that ends, a broken device.
constexpr EntryRules kCudart{cudaErrorInsufficientDriver, cudaErrorCudartUnloading, -1};

/// Like kCudart, for calls that a broken device still answers.
constexpr EntryRules kCudartAlways{cudaErrorInsufficientDriver, cudaErrorCudartUnloading, 0};

/// Stores a failure for cudaGetLastError and returns it.
cudaError_t Result(cudaError_t error);

}  // namespace emulator

/// EMULATOR_ENTER for the runtime, whose failures cudaGetLastError repeats.
#define CUDART_ENTER(rules) \
  if (const auto failure = ::emulator::Enter(__func__, rules)) return ::emulator::Result(*failure)
