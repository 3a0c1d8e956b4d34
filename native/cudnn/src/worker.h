#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "batch.h"
#include "host_block.h"
#include "libraries.h"

namespace cudnn_rnn {

/// What a session found out about its device when it opened.
struct DeviceInfo {
  std::string name;
  std::map<std::string, double> numbers;
};

/// The device as its one thread sees it: the stream, the library handles, and all memory ever taken and not given back.
struct Worker {
  Worker(const Libraries& libraries, int device, HostBlockPool& host_blocks)
      : libraries(libraries), device(device), host_blocks(host_blocks) {}

  /// Makes the handles. Throws NativeError.
  DeviceInfo Open();
  /// Gives everything back; statuses are of no use to anybody any more.
  void Close();

  /// Runs a batch; its error is the first failure. Never throws.
  void Run(Batch& batch);

  /// Allocates what `buffer` asks for. Throws NativeError, which says how much is free.
  void Allocate(DeviceBuffer& buffer);
  void Free(void* pointer);

  const Libraries& libraries;
  const int device;
  HostBlockPool& host_blocks;
  cudaStream_t stream = nullptr;
  cudnnHandle_t cudnn = nullptr;
  cublasHandle_t cublas = nullptr;
  cudaMemPool_t pool = nullptr;
  /// Modules of kernels, unloaded when the device is closed.
  std::vector<CUmodule> modules;
  bool capturing = false;

 private:
  /// What a batch of the step under way met.
  ErrorRef step_error_;

  void* TryAllocate(std::size_t bytes);
  /// After a failure: the error that killed the device's context, where one did. Libraries hide it behind their own.
  ErrorRef WithLostDevice(ErrorRef error) const;

  std::unordered_map<void*, std::size_t> live_;
};

}  // namespace cudnn_rnn
