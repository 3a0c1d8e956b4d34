// The ranks of an NCCL communicator that this process has: one, or one for each of several devices. Arrays of the
// device are combined on the streams of executors; with one rank also arrays of the host, through memory of its device.
//
// Note [Deadlines of NCCL]. NCCL's collectives have none. The communicator is non-blocking: its thread polls the state
// of NCCL and of the stream, so that it never waits inside a call, and calls ncclCommAbort itself when the deadline
// passes, when NCCL reports an error of another rank, or when the process ends. No other thread calls NCCL, as
// ncclCommAbort requires.
//
// Note [Several devices of one thread]. One thread makes the calls of all devices of the process. A call for one rank
// may wait for the others, so the calls for all are put between ncclGroupStart and ncclGroupEnd (NCCL user guide,
// "Management Of Multiple GPUs From One Thread"). An error of one rank aborts all.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/stream_call.h"
#include "sys/libraries.h"
#include "sys/native_error.h"

namespace cudnn_rnn {

#define SYMBOL(result, name, parameters) result(*name) parameters = nullptr;
struct NcclTable {
#include "sys/nccl_symbols.def"
};
#undef SYMBOL

/// Fills the table from an open library. Throws NativeError, which names a missing symbol.
NcclTable BindNccl(void* library);

/// 22707 of 2.27.7. Throws NativeError.
int NcclVersion(const NcclTable& nccl);

/// A new id, which all ranks of a communicator need. Throws NativeError.
ncclUniqueId NewNcclId(const NcclTable& nccl);

/// kAllReduce reduces an array of the host; the calls on streams combine arrays of the devices on executors' streams.
enum class NcclOperationKind { kOpen, kAllReduce, kReduceOnStream, kBroadcastOnStream, kClose };

/// One call, from its queueing to its settlement. `data` must stay valid until then.
struct NcclOperation {
  NcclOperationKind kind = NcclOperationKind::kAllReduce;
  void* data = nullptr;
  std::size_t count = 0;
  std::size_t element_bytes = 4;
  /// ncclDataType_t and ncclRedOp_t.
  int type = 0;
  int reduction = 0;
  /// The rank whose arrays a broadcast copies.
  int root = 0;
  /// The end of a call on streams for each device of the process, and the elements of each array.
  std::vector<CommunicatorEnd> stream_calls;
  std::vector<std::size_t> counts;
  /// The workers of the streams have been let continue.
  bool is_taken = false;
  ErrorRef error;
  /// The caller's.
  std::shared_ptr<void> settlement;
};

struct NcclOptions {
  /// The devices of this process.
  std::vector<int> devices;
  /// The rank of the first device; the others follow.
  int rank = 0;
  /// The ranks of all processes.
  int size = 1;
  ncclUniqueId id{};
  double timeout_seconds = 600;
};

class NcclCommunicator {
 public:
  /// Called on the communicator's thread for every operation.
  using Settle = std::function<void(std::unique_ptr<NcclOperation>)>;

  NcclCommunicator(std::shared_ptr<const Libraries> libraries, NcclTable nccl, NcclOptions options)
      : libraries_(std::move(libraries)), nccl_(nccl), options_(std::move(options)) {
    for (const int device : options_.devices) members_.push_back({device});
  }
  ~NcclCommunicator() { Stop(); }

  /// Starts the thread; `first` opens.
  void Start(std::unique_ptr<NcclOperation> first, Settle settle);
  void Post(std::unique_ptr<NcclOperation> operation);
  /// Aborts the operation under way, drops the queued ones, and joins the thread. Idempotent.
  void Stop();

 private:
  /// A rank of this process.
  struct Member {
    int device = 0;
    ncclComm_t communicator = nullptr;
    /// Recorded behind a call on a stream of an executor.
    cudaEvent_t done = nullptr;
  };

  void Run();
  void Perform(NcclOperation& operation);
  void Open();
  void AllReduce(const NcclOperation& operation);
  /// Waits for the workers of the streams, makes the call for all their arrays at once, and waits for the devices.
  void CallOnStreams(NcclOperation& operation);
  /// Waits until all workers have reached the call. The error comes from the first whose arrays are of no use.
  std::vector<StreamArrival> WaitForWorkers(const char* call, NcclOperation& operation, ErrorRef* error);
  /// Lets the workers of the streams continue, with the operation's error if it has one. Idempotent.
  static void LetContinue(NcclOperation& operation);
  void Close();
  void Release();
  /// Aborts the communicators, so that kernels which wait for other ranks end.
  void Abort();
  bool IsOpen() const { return members_.front().communicator != nullptr; }
  /// Makes a call for every rank of this process, as one group, and waits until NCCL has taken all of them.
  void CallForAll(const char* call, const std::function<ncclResult_t(Member&)>& make);
  void SetDevice(const Member& member);
  /// Polls `is_done` until it is true. Throws NativeError at the deadline and when the communicator is stopped.
  void WaitUntil(const char* call, const std::function<bool()>& is_done);
  /// Waits until NCCL has taken a call; `result` is the status of that call.
  void WaitForNccl(ncclResult_t result, const char* call);
  void CheckNccl(ncclResult_t result, const char* call);
  [[noreturn]] void Fail(const char* call, const char* name, int status, const std::string& detail);

  const std::shared_ptr<const Libraries> libraries_;
  const NcclTable nccl_;
  const NcclOptions options_;
  Settle settle_;
  std::vector<Member> members_;
  /// The stream of host arrays, on the first device.
  cudaStream_t stream_ = nullptr;
  void* buffer_ = nullptr;
  std::size_t buffer_bytes_ = 0;
  std::chrono::steady_clock::time_point began_;

  std::atomic<bool> stops_ = false;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<NcclOperation>> queue_;
  /// The thread takes no more operations.
  bool has_ended_ = false;
};

}  // namespace cudnn_rnn
