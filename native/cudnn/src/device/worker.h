#pragma once

#include <atomic>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/batch.h"
#include "device/host_block.h"
#include "sys/libraries.h"

namespace cudnn_rnn {

class CommandReader;

/// Properties of the device and versions of the libraries, read when the session opens.
struct DeviceInfo {
  std::string name;
  std::map<std::string, double> numbers;
};

/// The stream, the library handles and all objects of a session. Used by the session's worker thread only: a cuDNN
/// handle must not be used by two threads at once, and the current device and a stream capture belong to a thread.
class Worker {
 public:
  Worker(const Libraries& libraries, int device, HostBlockPool& host_blocks)
      : libraries(libraries), device(device), host_blocks(host_blocks) {}

  /// Makes the handles. Throws NativeError.
  DeviceInfo Open();
  /// Gives everything back; statuses are of no use any more.
  void Close();

  /// Runs a batch; its error is the first failure. Never throws.
  void Run(Batch& batch);

  /// Runs a batch of commands that need no device, on any thread, and destroys the objects that they made.
  void RunWithoutDevice(Batch& batch);

  /// The object of this id; null if there is none.
  Object* Find(Id id);
  /// A new object.
  Object& Make(Id id);
  /// Memory on the device. Throws NativeError, which states how much is free.
  void* Allocate(std::size_t bytes);
  /// Waits for the device and gives it the freed memory that the pool keeps. Throws NativeError.
  void TrimMemory();

  const Libraries& libraries;
  const int device;
  HostBlockPool& host_blocks;
  /// Non-blocking, so it does not synchronize with the legacy default stream of other code in the process.
  cudaStream_t stream = nullptr;
  cudnnHandle_t cudnn = nullptr;
  cublasHandle_t cublas = nullptr;
  /// The device's default memory pool; null if the device has none, and memory is then allocated by cudaMalloc, which
  /// synchronizes.
  cudaMemPool_t pool = nullptr;
  /// The kernels of kernels/, by their numbers in the table of kernels.
  KernelModule kernels{libraries};
  /// The word that a persistent kernel raises when it has waited too long, in page-locked memory; null before the first
  /// such kernel is loaded. Read by the session's other thread too.
  std::atomic<volatile unsigned*> watch = nullptr;
  /// Throws NativeError if a persistent kernel has raised `watch`: from then on the session computes nothing any more.
  void CheckWatch() const;
  /// Makes `watch`. Throws NativeError.
  void OpenWatch();
  /// The element type of the kernels' scalars.
  bool has_double_scalars = false;

 private:
  /// Runs the segments of a batch in order, and marks the outputs of failed and skipped ones with the error.
  void RunSegments(Batch& batch);
  /// Lets the communicator of NCCL make a call on the stream. After a failure the buffers of the call carry the error.
  void RunStreamCall(Batch& batch, WorkerEnd& call);
  /// Captures a batch into a graph. A failed capture changes nothing.
  void Capture(Batch& batch);
  /// Destroys an object. Idempotent; memory is freed after the work queued so far.
  void Release(Id id);
  void Free(void* pointer);
  void StartTimer();
  double StopTimer();
  void DestroyTimer();
  /// After a failure: the error that killed the device's context, if one did. Libraries hide it behind their own.
  ErrorRef WithLostDevice(ErrorRef error) const;

  std::unordered_map<Id, Object> objects_;
  /// All memory that was allocated and not freed.
  std::unordered_map<void*, std::size_t> live_;
  /// Whether the last capture succeeded; the condition of the batches that follow it.
  bool captured_ = false;
  cudaEvent_t timer_[2] = {nullptr, nullptr};
  HostBlockRef watch_block_;
};

}  // namespace cudnn_rnn
