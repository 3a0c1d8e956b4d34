// All ranks of an MPI job, as this process sees them. MPI is initialised once per process, so there is one World, and
// it is never destroyed: threads may still wait in it when the process ends.
//
// Note [Threads]. One thread makes every collective call, initialises MPI and finalises it. Calls block on it, as MPI
// makes no progress outside its calls; JavaScript's thread only queues. A second thread, the watchdog, ends the job
// when a call exceeds its deadline: JavaScript's thread may be busy then, and the first one is inside MPI.
//
// Note [Heartbeats]. The watchdog of a rank that waits in a call requests a sign of life from the next rank, whose
// watchdog gives it, even while its JavaScript is busy. A rank without one for `silence_seconds` was stopped or its
// host is dead: the job ends, long before the deadline. Each rank queries one other, so that the messages do not grow
// with the square of the ranks; of several that are silent one has a living predecessor, as long as one rank lives.
// Silence is the time that the own watchdog has run, with at most 0.2 s for each of its turns: a job that was stopped
// as a whole continues.
//
// Note [Busy ranks]. The watchdog answers while JavaScript is in an endless loop as well. So JavaScript's thread calls
// Beat() from its event loop twice a second, and a rank in no call whose last beat is older than `busy_seconds` gives
// another sign. A rank that has waited for it as long ends the job.
//
// Note [Roll call]. A rank whose call has expired requests from all others, over a separate communicator, the call that
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
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collectives.h"
#include "mpi_library.h"
#include "operation.h"

namespace cudnn_rnn {

/// The process ended although other ranks went on.
inline constexpr int kLeftExitCode = 70;
/// A rank is missing; EX_TEMPFAIL of sysexits.h, as starting again may help.
inline constexpr int kTimeoutExitCode = 75;

struct WorldOptions {
  /// Libraries to try, in order.
  std::vector<std::string> libraries;
  /// The launcher's number of processes; 0 without a launcher.
  int expected_size = 0;
  double timeout_seconds = 600;
  /// See Note [Heartbeats].
  double silence_seconds = 8;
  /// See Note [Busy ranks].
  double busy_seconds = 60;
};

/// Properties of the job. Written by the thread of MPI while it opens, constant afterwards.
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

/// All ranks, and the two threads that serve them. Start() and Post() are for JavaScript's thread; each private
/// function below belongs to the thread of MPI or to the watchdog, as noted.
class World {
 public:
  using Settle = std::function<void(std::unique_ptr<Operation>)>;
  /// kNew: not open, or the library was not found and another open may follow. kOpen: from Start() to the end of
  /// Close(). kClosed: MPI was finalised, or cannot be used in this process.
  enum class State { kNew, kOpen, kClosed };

  /// The one world of the process. MPI can be initialised once per process, so a closed world is not opened again.
  static World& Instance();

  /// Starts the threads and queues `first`, which opens. `settle` is called on the thread of MPI for every operation
  /// with a settlement.
  void Start(WorldOptions options, std::unique_ptr<Operation> first, Settle settle);
  /// Queues an operation behind all others; the order of calls must be the same on all ranks. Any thread may post.
  void Post(std::unique_ptr<Operation> operation);
  /// Closes from JavaScript's thread at the end of the process; false where operations are pending or closing failed.
  bool CloseAtExit();
  /// JavaScript's event loop has turned.
  void Beat() { beats_++; }
  /// Joins the threads, once an operation has been settled that closed the world or failed to open it.
  void Join();
  /// Prints `reason` and ends all ranks, this process at the latest after some seconds.
  [[noreturn]] void Abort(const std::string& reason, int code);

  State state() const { return state_; }
  /// Valid once an operation of kind kOpen has been settled without a failure.
  const WorldInfo& info() const { return info_; }

 private:
  /// Its form in a report of a roll call.
  struct Progress {
    OperationKind kind = OperationKind::kNone;
    /// Collectives begun.
    std::int64_t sequence = 0;
    std::int64_t bytes = 0;
    /// Of the operation in progress, or else since the last one ended.
    double seconds = 0;
  };

  /// Body of the thread of MPI: performs operations in the order of the queue until one closes the world.
  void Run();
  /// Performs one operation. An error is stored in `operation.failure`; nothing is thrown. On the thread of MPI, as are
  /// the two functions below.
  void Perform(Operation& operation);
  void Open(Operation& operation);
  /// Waits for all ranks (MPI_Finalize alone need not), frees the communicators and finalises MPI.
  void Close(Operation& operation);

  /// Body of the watchdog thread: looks for an expired operation, answers roll calls of other ranks, and while this
  /// rank closes looks for ranks that still wait in a collective.
  void Watch();
  /// Ends the job after `progress` exceeded the deadline, with a message that names the missing ranks. Returns if the
  /// operation has ended meanwhile.
  void Expire(const Progress& progress);
  /// A consistent copy of the progress, with the seconds computed now. Any thread.
  Progress CurrentProgress();
  /// Sends this rank's progress to every rank that requested it. Does nothing if MPI is being finalised.
  void AnswerRollCall();
  enum class Sign { kAlive, kBusy, kSilent };
  /// Requests a sign of life of the next rank, or receives its answer.
  /// @returns its last sign, or kSilent if it has been silent for too long
  Sign NextRank();
  /// Adds the turn to the times below.
  void CountTurn(double seconds);
  /// Sends an empty message. Requires `control_`.
  void SendEmpty(int rank, int tag);
  /// Takes all messages of a rank with a tag; whether there were any. Requires `control_`.
  bool TakeAll(int rank, int tag);
  /// Requests the progress of all other ranks and waits at most `seconds` for the reports, one per rank; `sequence` is
  /// -1 for a rank without a report. Empty if roll calls are not possible.
  std::vector<Progress> CallRoll(double seconds);
  static std::string Description(const Progress& progress);
  /// The part of a message that names each rank which is not in the call of `progress`, and the call that it is in.
  std::string MissingRanks(const Progress& progress, const std::vector<Progress>& reports) const;
  /// "rank 3 of 8 on host", for messages; the own rank with its process number.
  std::string Name(int rank) const;

  // options_ is set before the threads start, library_ and info_ by Open(). The watchdog calls MPI only under control_
  // and if may_call_roll_ is true, so its reads come after those writes.
  MpiLibrary library_;
  WorldOptions options_;
  WorldInfo info_;
  Settle settle_;
  /// Duplicates of MPI_COMM_WORLD: messages in one communicator never match those in another, so collectives, roll
  /// calls and MPI calls of other code in the process cannot be confused.
  MpiHandle data_comm_ = 0;
  MpiHandle control_comm_ = 0;
  /// Over data_comm_, from the end of Open().
  std::optional<Collectives> collectives_;
  /// Host names by rank, gathered at opening, as a missing rank can no longer report its own.
  std::vector<std::string> hosts_;
  std::atomic<State> state_ = State::kNew;
  /// Between MPI_Init_thread and MPI_Finalize.
  std::atomic<bool> is_initialised_ = false;
  std::atomic<bool> is_aborting_ = false;

  std::thread caller_;
  std::thread watchdog_;
  // Guards queue_, pending_, progress_ and since_. Never held during a call of MPI, which may block for as long as a
  // rank is late.
  std::mutex mutex_;
  /// Of the queue and of `pending_`.
  std::condition_variable changed_;
  /// The watchdog waits for this one, so that no call wakes it.
  std::condition_variable ended_;
  std::deque<std::unique_ptr<Operation>> queue_;
  /// Queued or in progress.
  std::size_t pending_ = 0;
  Progress progress_;
  std::chrono::steady_clock::time_point since_;

  /// Held by the watchdog while it calls MPI, so that none of its calls comes after MPI_Finalize.
  std::mutex control_;
  bool may_call_roll_ = false;

  /// Of the watchdog: whether a sign of life of the next rank is outstanding, and the seconds since.
  bool awaits_heartbeat_ = false;
  double silent_seconds_ = 0;
  bool is_next_busy_ = false;
  /// Calls of Beat(), those that the watchdog has seen, and the seconds since the last one.
  std::atomic<std::uint64_t> beats_ = 0;
  std::uint64_t seen_beats_ = 0;
  double busy_seconds_ = 0;
};

}  // namespace cudnn_rnn
