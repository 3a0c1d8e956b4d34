#include "watchdog.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>

namespace cudnn_rnn {
namespace {

using Clock = std::chrono::steady_clock;

/// Tags of the control communicator: a question is empty, a report is a Progress.
constexpr int kAskTag = 1;
constexpr int kReportTag = 2;
constexpr int kHeartbeatAskTag = 3;
constexpr int kHeartbeatTag = 4;
/// The answer of a rank whose JavaScript does not return to its event loop.
constexpr int kBusyTag = 5;
constexpr int kTags[] = {kAskTag, kReportTag, kHeartbeatAskTag, kHeartbeatTag, kBusyTag};
constexpr auto kWatchInterval = std::chrono::milliseconds(100);
/// A longer turn of the watchdog counts as this many seconds: the process was stopped.
constexpr double kLongestTurnSeconds = 0.2;
/// Between a heartbeat and the next question.
constexpr double kHeartbeatPause = 0.5;
/// A rank that has been idle for less is not queried.
constexpr double kSilentSeconds = 0.5;
constexpr double kRollCallSeconds = 2;
/// A closing rank looks at the others this often.
constexpr double kClosingCheckSeconds = 1;
/// Calls of a training before its first updates, in which it reads data and restores a checkpoint.
constexpr std::int64_t kFirstCalls = 32;
constexpr double kFirstBusySeconds = 60;
/// How much longer than ever before a rank may compute.
constexpr double kBusyGrowth = 2;
/// A message of thousands of ranks would be unreadable.
constexpr std::size_t kMostRanksNamed = 8;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string Rounded(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
  return text;
}

/// The device call of `progress`, as the progress of a rank that is in no call of MPI.
Progress DeviceCallOf(Progress progress) {
  progress.kind = OperationKind::kNone;
  return progress;
}

std::string DeviceCallName(const Progress& progress) {
  return "call " + std::to_string(progress.device_ended + 1) + " of NCCL";
}

/// Whether a rank of `report` has come to the call of `progress`; one that has left a call of a device has made its
/// part.
bool IsIn(const Progress& progress, const Progress& report) {
  if (progress.kind == OperationKind::kNone) return report.device_begun > progress.device_ended;
  return report.kind == progress.kind && report.sequence == progress.sequence;
}

}  // namespace

void Watchdog::Start(const JobOptions& options) {
  options_ = options;
  is_stopped_ = false;
  thread_ = std::thread([this] { Watch(); });
}

void Watchdog::PermitCalls() {
  // Under the lock: the calls happen after all writes of opening.
  const std::lock_guard lock(control_);
  may_call_ = job_.info().names_missing_ranks && job_.info().size > 1;
}

void Watchdog::ForbidCalls() {
  const std::lock_guard lock(control_);
  may_call_ = false;
  // Questions and answers that crossed the last calls.
  for (int rank = 0; rank < job_.info().size; rank++) {
    for (const int tag : kTags) TakeAll(rank, tag);
  }
}

void Watchdog::Stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  stopped_.notify_all();
}

bool Watchdog::NextTurn() {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_for(lock, kWatchInterval, [this] { return is_stopped_; });
}

void Watchdog::Watch() {
  auto checked = Clock::now();
  auto turn = checked;
  while (NextTurn()) {
    const Progress progress = progress_.Current();
    CountTurn(std::min(SecondsSince(turn), kLongestTurnSeconds));
    turn = Clock::now();
    // An idle rank has no deadline: JavaScript may compute for any time between collectives.
    const bool is_in_mpi = progress.kind != OperationKind::kNone;
    if (is_in_mpi && progress.seconds > options_.timeout_seconds) Expire(progress);
    if (progress.device_seconds > options_.timeout_seconds) Expire(DeviceCallOf(progress));
    if (progress.seconds < kSilentSeconds) {
      silent_seconds_ = 0;
      continue;
    }
    AnswerRollCall();
    if (is_in_mpi || progress.device_seconds >= kSilentSeconds) {
      const Heartbeat heartbeat = NextRank();
      const std::string cannot =
          "Cannot complete " + Description(progress) + " as " + job_.Name((job_.info().rank + 1) % job_.info().size);
      if (heartbeat == Heartbeat::kSilent) {
        job_.Abort(cannot + " has sent no heartbeat for " + Rounded(options_.silence_seconds) +
                       ": its process was stopped, or its host is dead. All ranks are ended",
                   kTimeoutExitCode);
      }
      const double waited = is_in_mpi ? progress.seconds : progress.device_seconds;
      if (heartbeat == Heartbeat::kBusy && waited > options_.busy_seconds) {
        job_.Abort(
            cannot + " computes for more than " + Rounded(options_.busy_seconds) +
                " without a return to its event loop. An endless loop does so; where it is none, set busySeconds. All "
                "ranks are ended",
            kTimeoutExitCode);
      }
    }
    if (progress.kind != OperationKind::kClose || SecondsSince(checked) < kClosingCheckSeconds) continue;
    checked = Clock::now();
    if (progress.seconds < kClosingCheckSeconds) continue;
    // A rank that waits in a collective waits for this one, which will make no further call.
    const std::vector<Progress> reports = CallRoll(kSilentSeconds);
    for (int rank = 0; rank < static_cast<int>(reports.size()); rank++) {
      const Progress& report = reports[rank];
      if (!IsCollective(report.kind) || report.sequence <= progress.sequence || report.seconds < 1) continue;
      job_.Abort("it left while " + job_.Name(rank) + " waits for it in " + NameOf(report.kind) + " (call " +
                     std::to_string(report.sequence) + "). Every rank must make the same calls. All ranks are ended",
                 kLeftExitCode);
    }
  }
}

void Watchdog::Expire(const Progress& progress) {
  const std::vector<Progress> reports = CallRoll(kRollCallSeconds);
  // The call may have ended meanwhile.
  const Progress now = progress_.Current();
  const bool is_device_call = progress.kind == OperationKind::kNone;
  if (is_device_call ? now.device_ended != progress.device_ended : !IsIn(progress, now)) return;
  job_.Abort("Cannot complete " + Description(progress) + " as every rank must come to it within " +
                 Rounded(options_.timeout_seconds) + MissingRanks(progress, reports) + ". All ranks are ended",
             kTimeoutExitCode);
}

std::string Watchdog::Description(const Progress& progress) {
  if (progress.kind == OperationKind::kNone) return DeviceCallName(progress);
  const std::string name = NameOf(progress.kind);
  if (!IsCollective(progress.kind)) return name;
  return name + " (call " + std::to_string(progress.sequence) + ", " + std::to_string(progress.bytes) + " bytes)";
}

std::string Watchdog::MissingRanks(const Progress& progress, const std::vector<Progress>& reports) const {
  std::string text;
  std::size_t named = 0;
  for (int rank = 0; rank < static_cast<int>(reports.size()); rank++) {
    const Progress& report = reports[rank];
    if (rank == job_.info().rank || IsIn(progress, report)) continue;
    if (++named > kMostRanksNamed) return text + ", and others";
    text += named == 1 ? ": " : ", ";
    text += job_.Name(rank);
    if (report.sequence < 0) {
      text += " does not answer";
    } else if (report.kind != OperationKind::kNone) {
      text += std::string(" is in ") + NameOf(report.kind) + " (call " + std::to_string(report.sequence) + ")";
    } else if (report.is_in_device_call()) {
      text += " is in " + DeviceCallName(report);
    } else {
      text += " is in no call since " + Rounded(report.seconds) + " (its last was call " +
              std::to_string(report.sequence) + ")";
    }
  }
  return text;
}

void Watchdog::AnswerRollCall() {
  // Try only: if the thread of MPI holds the lock, it is opening or finalizing, and no answer is due.
  const std::unique_lock lock(control_, std::try_to_lock);
  if (!lock.owns_lock() || !may_call_) return;
  for (int rank = 0; rank < job_.info().size; rank++) {
    if (rank == job_.info().rank) continue;
    char nothing = 0;
    if (!Receive(&nothing, 0, rank, kAskTag)) continue;
    // Never freed, as the send may never complete; a job queries all ranks a few times before its end.
    auto* report = new Progress(progress_.Current());
    // If MPI_Isend fails, the heartbeats are sent in the next turn. The rank that waits for the report continues
    // without it.
    if (!StartSend(report, sizeof *report, rank, kReportTag)) return;
  }
  const int previous = (job_.info().rank + job_.info().size - 1) % job_.info().size;
  owes_heartbeat_ = TakeAll(previous, kHeartbeatAskTag) || owes_heartbeat_;
  if (!owes_heartbeat_) return;
  // JavaScript may wait in CloseAtExit(): in a call it is not late.
  const Progress progress = progress_.Current();
  const bool is_busy = progress.kind == OperationKind::kNone && busy_seconds_ > BusyLimit(progress);
  owes_heartbeat_ = !SendEmpty(previous, is_busy ? kBusyTag : kHeartbeatTag);
}

void Watchdog::CountTurn(double seconds) {
  const std::uint64_t beats = beats_;
  if (beats != seen_beats_) longest_busy_seconds_ = std::max(longest_busy_seconds_, busy_seconds_);
  // Until the first one JavaScript opens the world.
  busy_seconds_ = beats == seen_beats_ && beats > 0 ? busy_seconds_ + seconds : 0;
  seen_beats_ = beats;
  silent_seconds_ += seconds;
}

double Watchdog::BusyLimit(const Progress& progress) const {
  if (!options_.learns_busy) return options_.busy_seconds;
  const double least = progress.sequence < kFirstCalls ? kFirstBusySeconds : options_.busy_seconds;
  return std::max(least, kBusyGrowth * longest_busy_seconds_);
}

Watchdog::Heartbeat Watchdog::NextRank() {
  const std::unique_lock lock(control_, std::try_to_lock);
  if (!lock.owns_lock() || !may_call_) return Heartbeat::kAlive;
  const int next = (job_.info().rank + 1) % job_.info().size;
  const bool is_alive = TakeAll(next, kHeartbeatTag);
  const bool is_busy = TakeAll(next, kBusyTag);
  if (is_alive || is_busy) {
    is_next_busy_ = is_busy;
    awaits_heartbeat_ = false;
    silent_seconds_ = 0;
  }
  if (!awaits_heartbeat_ && silent_seconds_ > kHeartbeatPause) {
    // A rank that was not asked is not silent.
    awaits_heartbeat_ = SendEmpty(next, kHeartbeatAskTag);
    silent_seconds_ = 0;
  }
  if (awaits_heartbeat_ && silent_seconds_ > options_.silence_seconds) return Heartbeat::kSilent;
  return is_next_busy_ ? Heartbeat::kBusy : Heartbeat::kAlive;
}

bool Watchdog::StartSend(const void* data, int bytes, int rank, int tag) {
  // Nonblocking: a rank that was stopped would block MPI_Send. The request is never completed, as the job ends soon
  // after, or the message is empty.
  MpiHandle request = 0;
  if (job_.library().Isend(data, bytes, job_.library().constants.byte, rank, tag, job_.control_comm(), &request) != 0) {
    return false;
  }
  return job_.library().Request_free(&request) == 0;
}

bool Watchdog::SendEmpty(int rank, int tag) {
  // The buffer is a literal, so it outlives the send.
  return StartSend("", 0, rank, tag);
}

bool Watchdog::TakeAll(int rank, int tag) {
  bool found = false;
  for (Progress message; Receive(&message, sizeof message, rank, tag);) found = true;
  return found;
}

bool Watchdog::Receive(void* message, int bytes, int rank, int tag) {
  const MpiLibrary& library = job_.library();
  void* ignore = library.constants.status_ignore;
  int flag = 0;
  // Probing never blocks; MPI_Recv follows only if the message has arrived.
  if (library.Iprobe(rank, tag, job_.control_comm(), &flag, ignore) != 0 || flag == 0) return false;
  return library.Recv(message, bytes, library.constants.byte, rank, tag, job_.control_comm(), ignore) == 0;
}

std::vector<Progress> Watchdog::CallRoll(double seconds) {
  int missing = 0;
  {
    const std::lock_guard lock(control_);
    if (!may_call_) return {};
    for (int rank = 0; rank < job_.info().size; rank++) {
      if (rank == job_.info().rank) continue;
      // A rank that cannot be asked is not waited for.
      missing += SendEmpty(rank, kAskTag) ? 1 : 0;
    }
  }
  Progress silent;
  silent.sequence = -1;
  std::vector<Progress> reports(static_cast<std::size_t>(job_.info().size), silent);
  reports[job_.info().rank] = progress_.Current();
  for (const auto start = Clock::now(); missing > 0 && SecondsSince(start) < seconds;) {
    // Others may have called the roll at the same time.
    AnswerRollCall();
    {
      const std::lock_guard lock(control_);
      if (!may_call_) return reports;
      for (int rank = 0; rank < job_.info().size; rank++) {
        Progress report;
        // A report that cannot be received now is missing until a later attempt.
        if (rank == job_.info().rank || !Receive(&report, sizeof report, rank, kReportTag)) continue;
        missing -= reports[rank].sequence < 0 ? 1 : 0;
        reports[rank] = report;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return reports;
}

}  // namespace cudnn_rnn
