// One rank of an NCCL communicator, which reduces arrays of the host through memory of its device.
//
// Note [Deadlines of NCCL]. NCCL's collectives have none. The communicator is non-blocking: its thread polls the state
// of NCCL and of the stream, so that it never waits inside a call, and calls ncclCommAbort itself when the deadline
// passes, when NCCL reports an error of another rank, or when the process ends. No other thread calls NCCL, as
// ncclCommAbort requires.
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

#include "libraries.h"
#include "native_error.h"
#include "stream_call.h"

namespace cudnn_rnn {

#define SYMBOL(result, name, parameters) result(*name) parameters = nullptr;
struct NcclTable {
#include "nccl_symbols.def"
};
#undef SYMBOL

/// Fills the table from an open library. Throws NativeError, which names a missing symbol.
NcclTable BindNccl(void* library);

/// A new id, which all ranks of a communicator need. Throws NativeError.
ncclUniqueId NewNcclId(const NcclTable& nccl);

/// kAllReduce reduces an array of the host, kReduceOnStream arrays of the device on an executor's stream.
enum class NcclOperationKind { kOpen, kAllReduce, kReduceOnStream, kClose };

/// One call, from its queueing to its settlement. `data` must stay valid until then.
struct NcclOperation {
  NcclOperationKind kind = NcclOperationKind::kAllReduce;
  void* data = nullptr;
  std::size_t count = 0;
  std::size_t element_bytes = 4;
  /// ncclDataType_t and ncclRedOp_t.
  int type = 0;
  int reduction = 0;
  /// Of a call on a stream: its end and the elements of each array.
  CommunicatorEnd stream_call;
  std::vector<std::size_t> counts;
  ErrorRef error;
  /// The caller's.
  void* settlement = nullptr;
};

struct NcclOptions {
  int device = 0;
  int rank = 0;
  int size = 1;
  ncclUniqueId id{};
  double timeout_seconds = 600;
};

class NcclCommunicator {
 public:
  /// Called on the communicator's thread for every operation.
  using Settle = std::function<void(std::unique_ptr<NcclOperation>)>;

  NcclCommunicator(std::shared_ptr<const Libraries> libraries, NcclTable nccl, NcclOptions options)
      : libraries_(std::move(libraries)), nccl_(nccl), options_(options) {}
  ~NcclCommunicator() { Stop(); }

  /// Starts the thread; `first` opens.
  void Start(std::unique_ptr<NcclOperation> first, Settle settle);
  void Post(std::unique_ptr<NcclOperation> operation);
  /// Aborts the operation under way, drops the queued ones, and joins the thread. Idempotent.
  void Stop();

 private:
  void Run();
  void Perform(NcclOperation& operation);
  void Open();
  void AllReduce(const NcclOperation& operation);
  /// Waits for the worker of the stream, makes the call for all its arrays at once, and waits for the device.
  void CallOnStream(NcclOperation& operation);
  void Close();
  void Release();
  /// Aborts the communicator, so that kernels which wait for other ranks end.
  void Abort();
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
  ncclComm_t communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
  /// Recorded behind a call on a stream of an executor.
  cudaEvent_t done_ = nullptr;
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
