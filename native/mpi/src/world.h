// All ranks of an MPI job, as this process sees them. MPI is initialised once per process, so there is one World, and
// it is never destroyed: threads may still wait in it when the process ends.
//
// Note [Threads]. One thread makes every collective call, initialises MPI and finalises it. Calls block on it, as MPI
// makes no progress outside its calls; JavaScript's thread only queues. A second thread, the watchdog, ends the job
// when a call exceeds its deadline: JavaScript's thread may be busy then, and the first one is inside MPI.
//
// Note [Heartbeats]. The watchdog of a rank that waits in a call asks the next rank for a sign of life, whose watchdog
// gives it, even while its JavaScript is busy. A rank without one for `silence_seconds` was stopped or its host is
// dead: the job ends, long before the deadline. Each rank asks one other, so that the messages do not grow with the
// square of the ranks; of several that are silent one has a living predecessor, as long as one rank lives. Silence is
// counted in turns of the own watchdog: a job that was stopped as a whole continues.
//
// Note [Roll call]. A rank whose call has expired asks all others, over a communicator of its own, for the call that
// they are in. Their watchdogs answer, so that the message names the ranks which are missing: those that do not answer
// were stopped, those in another call, or in none, never came. This needs MPI_THREAD_MULTIPLE; without it nothing is
// named.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "mpi_library.h"

namespace cudnn_rnn {

/// The process ended although other ranks went on.
inline constexpr int kLeftExitCode = 70;
/// A rank is missing; EX_TEMPFAIL of sysexits.h, as starting again may help.
inline constexpr int kTimeoutExitCode = 75;

enum class OperationKind : std::int64_t { kNone, kOpen, kAllReduce, kBroadcast, kAllGather, kBarrier, kClose };
enum class ElementKind { kFloat32, kFloat64, kInt32 };
enum class ReduceKind { kSum, kMin, kMax };

/// The reason why an operation failed; none where `code` is empty.
struct Failure {
  std::string code;
  /// The function of MPI that failed, and its text.
  std::string call;
  std::string detail;
  /// For each library that was tried, the loader's text.
  std::vector<std::string> attempts;
};

/// One call, from its queueing to its settlement. `data` must stay valid until then.
struct Operation {
  OperationKind kind = OperationKind::kNone;
  ElementKind element = ElementKind::kFloat32;
  ReduceKind reduce = ReduceKind::kSum;
  void* data = nullptr;
  /// Elements of an all-reduce, else bytes.
  std::size_t count = 0;
  int root = 0;
  /// Result of an all-gather: the bytes of all ranks one after the other, and the number of each.
  std::vector<std::uint8_t> gathered;
  std::vector<std::int64_t> lengths;
  Failure failure;
  /// The caller's.
  void* settlement = nullptr;
};

struct WorldOptions {
  /// Libraries to try, in order.
  std::vector<std::string> libraries;
  /// The launcher's number of processes; 0 without a launcher.
  int expected_size = 0;
  double timeout_seconds = 600;
  /// See Note [Heartbeats].
  double silence_seconds = 8;
};

struct WorldInfo {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  bool names_missing_ranks = false;
  std::string library;
  std::string version;
  std::string abi;
};

class World {
 public:
  using Settle = std::function<void(std::unique_ptr<Operation>)>;
  enum class State { kNew, kOpen, kClosed };

  static World& Instance();

  /// Starts the threads and queues `first`, which opens. `settle` is called on the thread of MPI for every operation
  /// with a settlement.
  void Start(WorldOptions options, std::unique_ptr<Operation> first, Settle settle);
  void Post(std::unique_ptr<Operation> operation);
  /// Closes from JavaScript's thread at the end of the process; false where operations are pending or closing failed.
  bool CloseAtExit();
  /// Joins the threads, once an operation has been settled that closed the world or failed to open it.
  void Join();
  /// Prints `reason` and ends all ranks, this process at the latest after some seconds.
  [[noreturn]] void Abort(const std::string& reason, int code);

  State state() const { return state_; }
  /// Valid once an operation of kind kOpen has been settled without a failure.
  const WorldInfo& info() const { return info_; }

 private:
  /// As it stands in a report of a roll call.
  struct Progress {
    OperationKind kind = OperationKind::kNone;
    /// Collectives begun.
    std::int64_t sequence = 0;
    std::int64_t bytes = 0;
    /// Of the operation in progress, or else since the last one ended.
    double seconds = 0;
  };

  void Run();
  void Perform(Operation& operation);
  void Open(Operation& operation);
  void Close(Operation& operation);
  void AllReduce(const Operation& operation);
  void Broadcast(std::uint8_t* data, std::size_t count, int root);
  void AllGather(Operation& operation);
  void Check(int status, const char* call) const;

  void Watch();
  void Expire(const Progress& progress);
  Progress CurrentProgress();
  void AnswerRollCall();
  /// Asks the next rank for a sign of life, or looks for its answer. @returns whether it has been silent for too long
  bool IsNextRankSilent();
  /// Sends an empty message. Requires `control_`.
  void SendEmpty(int rank, int tag);
  /// Takes all messages of a rank with a tag; whether there were any. Requires `control_`.
  bool TakeAll(int rank, int tag);
  std::vector<Progress> CallRoll(double seconds);
  static std::string Description(const Progress& progress);
  std::string MissingRanks(const Progress& progress, const std::vector<Progress>& reports) const;
  std::string Name(int rank) const;

  MpiLibrary library_;
  WorldOptions options_;
  WorldInfo info_;
  Settle settle_;
  MpiHandle data_comm_ = 0;
  MpiHandle control_comm_ = 0;
  std::vector<std::string> hosts_;
  std::atomic<State> state_ = State::kNew;
  /// Between MPI_Init_thread and MPI_Finalize.
  std::atomic<bool> is_initialised_ = false;
  std::atomic<bool> is_aborting_ = false;

  std::thread caller_;
  std::thread watchdog_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Operation>> queue_;
  /// Queued or in progress.
  std::size_t pending_ = 0;
  Progress progress_;
  std::chrono::steady_clock::time_point since_;

  /// Held by the watchdog while it calls MPI, so that none of its calls comes after MPI_Finalize.
  std::mutex control_;
  bool may_call_roll_ = false;

  /// Of the watchdog: whether the next rank was asked for a sign of life that has not come, and the turns since.
  bool awaits_heartbeat_ = false;
  int silent_turns_ = 0;
};

}  // namespace cudnn_rnn
