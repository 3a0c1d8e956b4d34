// All ranks of an MPI job, as this process sees them. MPI is initialized once per process, so there is one World, and
// it is never destroyed: threads may still wait in it when the process ends.
//
// Note [Threads]. One thread makes every collective call, initializes MPI and finalizes it. Calls block on it, as MPI
// makes no progress outside its calls; JavaScript's thread only queues. A second thread, the watchdog, ends the job
// when a call exceeds its deadline: JavaScript's thread may be busy then, and the first one is inside MPI.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "call_progress.h"
#include "collectives.h"
#include "job.h"
#include "operation.h"
#include "watchdog.h"

namespace cudnn_rnn {

/// The queue of operations, and the two threads that serve it. Start() and Post() are for JavaScript's thread.
class World {
 public:
  using Settle = std::function<void(std::unique_ptr<Operation>)>;
  /// kNew: not open, or the library was not found and another open may follow. kOpen: from Start() to the end of
  /// Close(). kClosed: MPI was finalized, or cannot be used in this process.
  enum class State { kNew, kOpen, kClosed };

  /// The one world of the process. MPI can be initialized once per process, so a closed world is not opened again.
  static World& Instance();

  /// Starts the threads and queues `first`, which opens. `settle` is called on the thread of MPI for every operation
  /// with a settlement.
  void Start(JobOptions options, std::unique_ptr<Operation> first, Settle settle);
  /// Queues an operation behind all others; the order of calls must be the same on all ranks. Any thread may post.
  void Post(std::unique_ptr<Operation> operation);
  /// Closes from JavaScript's thread at the end of the process; false if operations are pending or closing failed.
  bool CloseAtExit();
  /// JavaScript's event loop has turned.
  void Beat() { watchdog_.Beat(); }
  /// The begin and the end of a call of the devices' library, which the watchdog waits for as for one of MPI. All ranks
  /// make the same calls, which end in the order of their begins. On JavaScript's thread, while the world is open.
  void BeginDeviceCall() { progress_.BeginDeviceCall(); }
  void EndDeviceCall() { progress_.EndDeviceCall(); }
  /// Joins the threads, once an operation has been settled that closed the world or failed to open it.
  void Join();
  /// Prints `reason` and ends all ranks, this process at the latest after some seconds.
  [[noreturn]] void Abort(const std::string& reason, int code) { job_.Abort(reason, code); }

  State state() const { return state_; }
  /// Valid once an operation of kind kOpen has been settled without a failure.
  const JobInfo& info() const { return job_.info(); }

 private:
  /// Body of the thread of MPI: performs operations in the order of the queue until one closes the world.
  void Run();
  /// Performs one operation. An error is stored in `operation.failure`; nothing is thrown. On the thread of MPI, as are
  /// the two functions below.
  void Perform(Operation& operation);
  void Open(Operation& operation);
  /// Waits for all ranks (MPI_Finalize alone need not), then finalizes MPI.
  void Close();

  JobOptions options_;
  Settle settle_;
  Job job_;
  CallProgress progress_;
  Watchdog watchdog_{job_, progress_};
  /// From the end of Open().
  std::optional<Collectives> collectives_;
  std::atomic<State> state_ = State::kNew;

  std::thread caller_;
  // Guards queue_ and pending_. Never held during a call of MPI, which may block for as long as a rank is late.
  std::mutex mutex_;
  /// Signals changes of the queue and of `pending_`.
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Operation>> queue_;
  /// Queued or in progress.
  std::size_t pending_ = 0;
};

}  // namespace cudnn_rnn
