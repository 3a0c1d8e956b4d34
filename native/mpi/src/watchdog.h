// The thread that ends the job when a rank is missing.
//
// Note [Heartbeats]. The watchdog of a rank that waits in a call requests a heartbeat from the next rank, whose
// watchdog gives it, even while its JavaScript is busy. A rank without one for `silence_seconds` was stopped or its
// host is dead: the job ends, long before the deadline. Each rank queries one other, so that the messages do not grow
// with the square of the ranks; of several that are silent one has a living predecessor, as long as one rank lives.
// Silence is counted in turns of the own watchdog: a job that was stopped as a whole continues.
//
// Note [Busy ranks]. The watchdog answers while JavaScript is in an endless loop as well. So JavaScript's thread calls
// Beat() from its event loop twice a second, and a rank in no call whose last beat is older than `busy_seconds` answers
// as busy. A rank that has waited for it as long ends the job. A loop and a long computation look alike, so with
// `learns_busy` the limit of a rank follows from its own past: before its first calls, while it reads its data, it may
// compute for a minute, and at any time for twice as long as it has computed before.
//
// Note [Roll call]. A rank whose call has expired requests from all others, over a separate communicator, the call that
// they are in. Their watchdogs answer, so that the message names the ranks which are missing: those that do not answer
// were stopped, those in another call, or in none, never came. This needs MPI_THREAD_MULTIPLE; without it nothing is
// named.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "call_progress.h"
#include "job.h"

namespace cudnn_rnn {

class Watchdog {
 public:
  Watchdog(Job& job, const CallProgress& progress) : job_(job), progress_(progress) {}

  /// Starts the thread, before the job is open: opening has the deadline too.
  void Start(const JobOptions& options);
  /// Allows calls of MPI. On the thread of MPI, once the job is open.
  void PermitCalls();
  /// Ends the calls of MPI, which are not allowed during or after MPI_Finalize, and takes the messages that crossed. On
  /// the thread of MPI.
  void ForbidCalls();
  /// Lets the thread end.
  void Stop();
  /// JavaScript's event loop has turned. Any thread.
  void Beat() { beats_++; }
  void Join() { thread_.join(); }

 private:
  /// Body of the thread: looks for an expired operation, answers roll calls of other ranks, and while this rank closes
  /// looks for ranks that still wait in a collective.
  void Watch();
  /// Waits for one turn; false after Stop().
  bool NextTurn();
  /// Ends the job after `progress` exceeded the deadline, with a message that names the missing ranks. Returns if the
  /// call has ended meanwhile. The call is a device's if there is none of MPI.
  void Expire(const Progress& progress);
  /// Sends this rank's progress to every rank that requested it. Does nothing if MPI is being finalized.
  void AnswerRollCall();
  enum class Heartbeat { kAlive, kBusy, kSilent };
  /// Requests a heartbeat of the next rank, or receives its answer.
  /// @returns its last heartbeat, or kSilent if it has been silent for too long
  Heartbeat NextRank();
  /// Adds the turn to the times below.
  void CountTurn(double seconds);
  /// Seconds for which JavaScript of this rank may compute without a return to its event loop.
  double BusyLimit(const Progress& progress) const;
  /// Starts to send `data`, which must live until the message has left, if it ever does. Requires `control_`.
  /// @returns whether MPI has taken it
  bool StartSend(const void* data, int bytes, int rank, int tag);
  /// Starts to send an empty message, as StartSend().
  bool SendEmpty(int rank, int tag);
  /// Receives a message of a rank with a tag if one has arrived. Requires `control_`.
  bool Receive(void* message, int bytes, int rank, int tag);
  /// Takes all messages of a rank with a tag; whether there were any. Requires `control_`.
  bool TakeAll(int rank, int tag);
  /// Requests the progress of all other ranks and waits at most `seconds` for the reports, one per rank; `sequence` is
  /// -1 for a rank without a report. Empty if roll calls are not possible.
  std::vector<Progress> CallRoll(double seconds);
  static std::string Description(const Progress& progress);
  /// The part of a message that names each rank which is not in the call of `progress`, and the call that it is in.
  std::string MissingRanks(const Progress& progress, const std::vector<Progress>& reports) const;

  Job& job_;
  const CallProgress& progress_;
  JobOptions options_;
  std::thread thread_;

  // Guards is_stopped_.
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopped_ = false;

  /// Held by the watchdog while it calls MPI, so that none of its calls comes before MPI is open or after MPI_Finalize.
  std::mutex control_;
  bool may_call_ = false;

  /// Whether a heartbeat of the next rank is outstanding, and the seconds since.
  bool awaits_heartbeat_ = false;
  double silent_seconds_ = 0;
  bool is_next_busy_ = false;
  /// Whether the rank before has requested a heartbeat that is not sent yet.
  bool owes_heartbeat_ = false;
  /// Number of calls of Beat(), that number as the watchdog read it last, and the seconds since it changed.
  std::atomic<std::uint64_t> beats_ = 0;
  std::uint64_t seen_beats_ = 0;
  double busy_seconds_ = 0;
  /// The longest time between two calls of Beat().
  double longest_busy_seconds_ = 0;
};

}  // namespace cudnn_rnn
