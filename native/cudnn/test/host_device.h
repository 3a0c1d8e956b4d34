// NVIDIA's functions in host memory, for tests of the calls of native/cudnn and of its state after a failure. Work is
// done at once, in the order of the calls. Each test makes one HostDevice; the functions of its tables use the last
// one.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "nccl/nccl_communicator.h"
#include "sys/libraries.h"

namespace cudnn_rnn {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// A call of cuDNN, cuBLAS or the driver, with the arguments that a test compares.
struct RecordedCall {
  std::string function;
  std::vector<double> numbers;
  std::vector<const void*> pointers;
};

class HostDevice {
 public:
  HostDevice();
  ~HostDevice();
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  /// All five tables, as of cuDNN 9.
  Libraries libraries;
  NcclTable nccl;

  /// Bytes on the device; an allocation beyond them fails.
  std::size_t capacity = std::size_t{1} << 40;
  std::size_t used = 0;
  bool has_pools = true;
  /// What ncclCommGetAsyncError reports.
  std::function<ncclResult_t()> nccl_state = [] { return ncclSuccess; };
  /// What cudaStreamQuery and cudaEventQuery return.
  std::function<cudaError_t()> query = [] { return 0; };
  /// Runs inside every kernel launch.
  std::function<void(unsigned blocks, unsigned threads, void** parameters)> kernel;

  /// From now on the function of this name returns `status`, after `successes` calls that succeed. Threads of the code
  /// under test may call functions meanwhile.
  void Fail(const std::string& function, int status, int successes = 0);
  /// All functions succeed again.
  void Recover();

  /// Calls by name.
  int count(const std::string& function) const;
  /// The calls of a function, in order.
  std::vector<RecordedCall> calls(const std::string& function) const;
  /// Names of all calls that changed something, in order.
  std::vector<std::string> names() const;
  void Forget();

  /// Objects that were made and not destroyed, by kind: "memory", "pinned", "stream", "descriptor", "graph" and so on.
  std::map<std::string, int> live() const;

  // For the functions.
  int Note(RecordedCall call);
  void* Make(const std::string& kind, std::size_t bytes = 1);
  int Destroy(const std::string& kind, void* object);
  /// Whether the stream is being captured.
  bool is_capturing = false;

 private:
  mutable std::mutex mutex_;
  struct Failure {
    int status;
    int successes;
  };
  std::map<std::string, Failure> failures_;
  std::vector<RecordedCall> recorded_;
  std::map<void*, std::pair<std::string, std::size_t>> live_;
};

}  // namespace cudnn_rnn
