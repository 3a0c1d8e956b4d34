#include "world.h"

#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <thread>

namespace cudnn_rnn {
namespace {

using Clock = std::chrono::steady_clock;

/// Bytes of a host name in the table of hosts, with the terminating zero; a longer name is cut.
constexpr int kHostBytes = 64;
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
/// Between a sign of life and the next question.
constexpr double kHeartbeatPause = 0.5;
/// A rank that has been idle for less is not queried.
constexpr double kSilentSeconds = 0.5;
constexpr double kRollCallSeconds = 2;
/// A closing rank looks at the others this often.
constexpr double kClosingCheckSeconds = 1;
/// Time for the launcher to read stderr before it learns of the abort.
constexpr auto kOutputDelay = std::chrono::milliseconds(200);
/// If MPI_Abort does not return or end the process within this time, it is ended without MPI.
constexpr auto kAbortGrace = std::chrono::seconds(5);
/// A message of thousands of ranks would be unreadable.
constexpr std::size_t kMostRanksNamed = 8;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string Rounded(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
  return text;
}

}  // namespace

World& World::Instance() {
  // Leaked on purpose: the destructor of a static would run at exit while the threads may still be inside MPI.
  static auto* const world = new World;
  return *world;
}

void World::Start(WorldOptions options, std::unique_ptr<Operation> first, Settle settle) {
  options_ = std::move(options);
  settle_ = std::move(settle);
  // Before the threads start, as both loop while the state is kOpen.
  state_ = State::kOpen;
  since_ = Clock::now();
  Post(std::move(first));
  caller_ = std::thread([this] { Run(); });
  watchdog_ = std::thread([this] { Watch(); });
}

void World::Post(std::unique_ptr<Operation> operation) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(operation));
  pending_++;
  changed_.notify_all();
}

bool World::CloseAtExit() {
  std::unique_lock lock(mutex_);
  if (pending_ > 0) return false;
  queue_.push_back(std::make_unique<Operation>());
  // Without a settlement: no promise can be settled during exit.
  queue_.back()->kind = OperationKind::kClose;
  pending_++;
  changed_.notify_all();
  // The watchdog ends the process where this takes too long.
  changed_.wait(lock, [this] { return pending_ == 0; });
  lock.unlock();
  // A close that failed leaves MPI initialised; the caller then aborts.
  if (is_initialised_) return false;
  Join();
  return true;
}

void World::Abort(const std::string& reason, int code) {
  const int status = (code & 0xff) == 0 ? kLeftExitCode : code & 0xff;
  // Both threads may abort. The first one ends the process; the second must not return, as this function does not.
  if (is_aborting_.exchange(true)) {
    for (;;) pause();
  }
  const std::string line = "cudnn-rnn: " + Name(info_.rank) + ": " + reason + "\n";
  // Nothing can be done about a stderr that is closed.
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) errno = 0;
  // MPI_Abort may block, as other threads may be inside MPI.
  std::thread([status] {
    std::this_thread::sleep_for(kAbortGrace);
    _exit(status);
  }).detach();
  // MPICH's launcher drops output that it has not read when it learns of the abort.
  std::this_thread::sleep_for(kOutputDelay);
  if (is_initialised_) library_.Abort(library_.constants.world, status);
  _exit(status);
}

void World::Run() {
  // Only this thread changes the state from here on, so the loop ends after the operation that closed.
  while (state_ == State::kOpen) {
    std::unique_ptr<Operation> operation;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !queue_.empty(); });
      operation = std::move(queue_.front());
      queue_.pop_front();
      // The sequence number counts collectives only: it is the same on all ranks that are at the same call.
      progress_.kind = operation->kind;
      if (IsCollective(operation->kind)) progress_.sequence++;
      progress_.bytes = static_cast<std::int64_t>(BytesOf(*operation));
      since_ = Clock::now();
    }
    Perform(*operation);
    const bool is_last = state_ != State::kOpen;
    {
      const std::lock_guard lock(mutex_);
      progress_.kind = OperationKind::kNone;
      since_ = Clock::now();
      pending_--;
      // CloseAtExit() waits for it.
      changed_.notify_all();
      if (is_last) ended_.notify_all();
    }
    // After the update of pending_: once JavaScript learns of the end, CloseAtExit() no longer counts this operation.
    if (operation->settlement != nullptr) settle_(std::move(operation));
    if (is_last) break;
  }
}

void World::Join() {
  caller_.join();
  watchdog_.join();
}

void World::Perform(Operation& operation) {
  try {
    switch (operation.kind) {
      case OperationKind::kOpen:
        return Open(operation);
      case OperationKind::kAllReduce:
        return collectives_->AllReduce(operation);
      case OperationKind::kBroadcast:
        return collectives_->Broadcast(operation.bytes, operation.byte_count, operation.root);
      case OperationKind::kAllGather:
        return collectives_->AllGather(operation);
      case OperationKind::kBarrier:
        return collectives_->Barrier();
      case OperationKind::kClose:
        return Close(operation);
      case OperationKind::kNone:
        return;
    }
  } catch (const MpiError& error) {
    operation.failure = {"ERR_COMMUNICATOR", error.call, error.detail, {}};
  } catch (const std::exception& error) {
    operation.failure = {"ERR_COMMUNICATOR", NameOf(operation.kind), error.what(), {}};
  }
}

void World::Open(Operation& operation) {
  std::vector<std::string> attempts;
  if (!OpenMpiLibrary(options_.libraries, &library_, &attempts)) {
    // Nothing of MPI was called, so another library may be tried.
    state_ = State::kNew;
    operation.failure = {"ERR_COMMUNICATOR_UNAVAILABLE", "dlopen", "", attempts};
    return;
  }
  info_.library = library_.name;
  info_.version = library_.Version();
  info_.abi = library_.abi;
  const MpiConstants& c = library_.constants;
  int flag = 0;
  // MPI_Init_thread may be called once per process. Another addon that has called it owns the threads and the
  // finalisation.
  library_.Check(library_.Initialized(&flag), "MPI_Initialized");
  if (flag != 0) {
    state_ = State::kClosed;
    operation.failure = {"ERR_COMMUNICATOR_UNAVAILABLE", "MPI_Initialized", "this process has initialised MPI", {}};
    return;
  }
  int provided = 0;
  library_.Check(library_.Init_thread(nullptr, nullptr, c.thread_multiple, &provided), "MPI_Init_thread");
  is_initialised_ = true;
  // Inherited by the duplicates below. The default, MPI_ERRORS_ARE_FATAL, would end the process inside MPI.
  library_.Check(library_.Comm_set_errhandler(c.world, c.errors_return), "MPI_Comm_set_errhandler");
  library_.Check(library_.Comm_size(c.world, &info_.size), "MPI_Comm_size");
  library_.Check(library_.Comm_rank(c.world, &info_.rank), "MPI_Comm_rank");
  // With the wrong library for the launcher, each process is rank 0 of a job of 1: every process would train alone.
  if (options_.expected_size > 0 && options_.expected_size != info_.size) {
    library_.Check(library_.Finalize(), "MPI_Finalize");
    is_initialised_ = false;
    state_ = State::kClosed;
    operation.failure = {"ERR_WORLD_MISMATCH", "MPI_Comm_size", std::to_string(info_.size), {}};
    return;
  }
  library_.Check(library_.Comm_dup(c.world, &data_comm_), "MPI_Comm_dup");
  library_.Check(library_.Comm_dup(c.world, &control_comm_), "MPI_Comm_dup");
  // MPI_COMM_TYPE_SHARED groups the ranks that share memory, that is, one host. The key, the rank, keeps their order.
  MpiHandle shared = 0;
  library_.Check(library_.Comm_split_type(c.world, c.shared_type, info_.rank, c.info_null, &shared),
                 "MPI_Comm_split_type");
  library_.Check(library_.Comm_size(shared, &info_.local_size), "MPI_Comm_size");
  library_.Check(library_.Comm_rank(shared, &info_.local_rank), "MPI_Comm_rank");
  library_.Check(library_.Comm_free(&shared), "MPI_Comm_free");

  char host[kHostBytes] = "";
  if (gethostname(host, sizeof host) != 0) host[0] = '\0';
  host[kHostBytes - 1] = '\0';
  std::vector<char> hosts(static_cast<std::size_t>(info_.size) * kHostBytes);
  library_.Check(library_.Allgather(host, kHostBytes, c.byte, hosts.data(), kHostBytes, c.byte, data_comm_),
                 "MPI_Allgather");
  for (int rank = 0; rank < info_.size; rank++) hosts_.emplace_back(hosts.data() + rank * kHostBytes);
  info_.names_missing_ranks = provided == c.thread_multiple;
  collectives_.emplace(library_, data_comm_, info_.rank, info_.size);
  // Last, and under the lock: the watchdog's calls of MPI happen after all writes above.
  const std::lock_guard lock(control_);
  may_call_roll_ = info_.names_missing_ranks && info_.size > 1;
}

void World::Close(Operation& operation) {
  (void)operation;
  // Over the control communicator: a rank that still waits in a collective of data_comm_ must not be matched by this
  // barrier.
  library_.Check(library_.Barrier(control_comm_), "MPI_Barrier");
  {
    const std::lock_guard lock(control_);
    // After this block the watchdog makes no call of MPI, which is not allowed during or after MPI_Finalize.
    may_call_roll_ = false;
    // Questions and answers that crossed the last calls.
    for (int rank = 0; rank < info_.size; rank++) {
      for (const int tag : kTags) TakeAll(rank, tag);
    }
  }
  library_.Check(library_.Comm_free(&data_comm_), "MPI_Comm_free");
  library_.Check(library_.Comm_free(&control_comm_), "MPI_Comm_free");
  library_.Check(library_.Finalize(), "MPI_Finalize");
  is_initialised_ = false;
  state_ = State::kClosed;
}

World::Progress World::CurrentProgress() {
  const std::lock_guard lock(mutex_);
  Progress progress = progress_;
  progress.seconds = SecondsSince(since_);
  return progress;
}

void World::Watch() {
  auto checked = Clock::now();
  auto turn = checked;
  while (state_ == State::kOpen) {
    {
      std::unique_lock lock(mutex_);
      ended_.wait_for(lock, kWatchInterval, [this] { return state_ != State::kOpen; });
    }
    const Progress progress = CurrentProgress();
    CountTurn(std::min(SecondsSince(turn), kLongestTurnSeconds));
    turn = Clock::now();
    // An idle rank has no deadline: JavaScript may compute for any time between collectives.
    if (progress.kind != OperationKind::kNone && progress.seconds > options_.timeout_seconds) Expire(progress);
    if (progress.seconds < kSilentSeconds) {
      silent_seconds_ = 0;
      continue;
    }
    AnswerRollCall();
    if (progress.kind != OperationKind::kNone) {
      const Sign sign = NextRank();
      const std::string cannot =
          "Cannot complete " + Description(progress) + " as " + Name((info_.rank + 1) % info_.size);
      if (sign == Sign::kSilent) {
        Abort(cannot + " has given no sign of life for " + Rounded(options_.silence_seconds) +
                  ": its process was stopped, or its host is dead. All ranks are ended",
              kTimeoutExitCode);
      }
      if (sign == Sign::kBusy && progress.seconds > options_.busy_seconds) {
        Abort(
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
      Abort("it left while " + Name(rank) + " waits for it in " + NameOf(report.kind) + " (call " +
                std::to_string(report.sequence) + "). Every rank must make the same calls. All ranks are ended",
            kLeftExitCode);
    }
  }
}

void World::Expire(const Progress& progress) {
  const std::vector<Progress> reports = CallRoll(kRollCallSeconds);
  // The call may have ended meanwhile.
  const Progress now = CurrentProgress();
  if (now.kind != progress.kind || now.sequence != progress.sequence) return;
  Abort("Cannot complete " + Description(progress) + " as every rank must come to it within " +
            Rounded(options_.timeout_seconds) + MissingRanks(progress, reports) + ". All ranks are ended",
        kTimeoutExitCode);
}

std::string World::Description(const Progress& progress) {
  const std::string name = NameOf(progress.kind);
  if (!IsCollective(progress.kind)) return name;
  return name + " (call " + std::to_string(progress.sequence) + ", " + std::to_string(progress.bytes) + " bytes)";
}

std::string World::MissingRanks(const Progress& progress, const std::vector<Progress>& reports) const {
  std::string text;
  std::size_t named = 0;
  for (int rank = 0; rank < static_cast<int>(reports.size()); rank++) {
    const Progress& report = reports[rank];
    if (rank == info_.rank || (report.kind == progress.kind && report.sequence == progress.sequence)) continue;
    if (++named > kMostRanksNamed) return text + ", and others";
    text += named == 1 ? ": " : ", ";
    text += Name(rank);
    if (report.sequence < 0) {
      text += " does not answer";
    } else if (report.kind != OperationKind::kNone) {
      text += std::string(" is in ") + NameOf(report.kind) + " (call " + std::to_string(report.sequence) + ")";
    } else {
      text += " is in no call since " + Rounded(report.seconds) + " (its last was call " +
              std::to_string(report.sequence) + ")";
    }
  }
  return text;
}

void World::AnswerRollCall() {
  // Try only: if the thread of MPI holds the lock, it is opening or finalising, and no answer is due.
  const std::unique_lock lock(control_, std::try_to_lock);
  if (!lock.owns_lock() || !may_call_roll_) return;
  for (int rank = 0; rank < info_.size; rank++) {
    if (rank == info_.rank) continue;
    int flag = 0;
    void* ignore = library_.constants.status_ignore;
    // Probing never blocks; MPI_Recv follows only if the message has arrived.
    if (library_.Iprobe(rank, kAskTag, control_comm_, &flag, ignore) != 0 || flag == 0) continue;
    char nothing = 0;
    if (library_.Recv(&nothing, 0, library_.constants.byte, rank, kAskTag, control_comm_, ignore) != 0) continue;
    // The report is never freed, as the send may never complete; a job calls the roll a few times before its end.
    auto* report = new Progress(CurrentProgress());
    // Nonblocking: a rank that was stopped would block MPI_Send. The request is never completed, as the job ends soon
    // after.
    MpiHandle request = 0;
    library_.Isend(report, sizeof *report, library_.constants.byte, rank, kReportTag, control_comm_, &request);
    library_.Request_free(&request);
  }
  const int previous = (info_.rank + info_.size - 1) % info_.size;
  if (!TakeAll(previous, kHeartbeatAskTag)) return;
  // JavaScript may wait in CloseAtExit(): in a call it is not late.
  const bool is_idle = CurrentProgress().kind == OperationKind::kNone;
  const bool is_busy = is_idle && busy_seconds_ > options_.busy_seconds;
  SendEmpty(previous, is_busy ? kBusyTag : kHeartbeatTag);
}

void World::CountTurn(double seconds) {
  const std::uint64_t beats = beats_;
  // Until the first one JavaScript opens the world.
  busy_seconds_ = beats == seen_beats_ && beats > 0 ? busy_seconds_ + seconds : 0;
  seen_beats_ = beats;
  silent_seconds_ += seconds;
}

World::Sign World::NextRank() {
  const std::unique_lock lock(control_, std::try_to_lock);
  if (!lock.owns_lock() || !may_call_roll_) return Sign::kAlive;
  const int next = (info_.rank + 1) % info_.size;
  const bool is_alive = TakeAll(next, kHeartbeatTag);
  const bool is_busy = TakeAll(next, kBusyTag);
  if (is_alive || is_busy) {
    is_next_busy_ = is_busy;
    awaits_heartbeat_ = false;
    silent_seconds_ = 0;
  }
  if (!awaits_heartbeat_ && silent_seconds_ > kHeartbeatPause) {
    SendEmpty(next, kHeartbeatAskTag);
    awaits_heartbeat_ = true;
    silent_seconds_ = 0;
  }
  if (awaits_heartbeat_ && silent_seconds_ > options_.silence_seconds) return Sign::kSilent;
  return is_next_busy_ ? Sign::kBusy : Sign::kAlive;
}

void World::SendEmpty(int rank, int tag) {
  // The buffer is a literal, so it outlives the send.
  MpiHandle request = 0;
  library_.Isend("", 0, library_.constants.byte, rank, tag, control_comm_, &request);
  library_.Request_free(&request);
}

bool World::TakeAll(int rank, int tag) {
  void* ignore = library_.constants.status_ignore;
  bool found = false;
  for (;;) {
    int flag = 0;
    if (library_.Iprobe(rank, tag, control_comm_, &flag, ignore) != 0 || flag == 0) return found;
    Progress message;
    if (library_.Recv(&message, sizeof message, library_.constants.byte, rank, tag, control_comm_, ignore) != 0) {
      return found;
    }
    found = true;
  }
}

std::vector<World::Progress> World::CallRoll(double seconds) {
  {
    const std::lock_guard lock(control_);
    if (!may_call_roll_) return {};
    for (int rank = 0; rank < info_.size; rank++) {
      if (rank == info_.rank) continue;
      SendEmpty(rank, kAskTag);
    }
  }
  Progress silent;
  silent.sequence = -1;
  std::vector<Progress> reports(static_cast<std::size_t>(info_.size), silent);
  reports[info_.rank] = CurrentProgress();
  int missing = info_.size - 1;
  for (const auto start = Clock::now(); missing > 0 && SecondsSince(start) < seconds;) {
    // Others may have called the roll at the same time.
    AnswerRollCall();
    {
      const std::lock_guard lock(control_);
      if (!may_call_roll_) return reports;
      for (int rank = 0; rank < info_.size; rank++) {
        int flag = 0;
        void* ignore = library_.constants.status_ignore;
        if (rank == info_.rank || library_.Iprobe(rank, kReportTag, control_comm_, &flag, ignore) != 0 || flag == 0) {
          continue;
        }
        missing -= reports[rank].sequence < 0 ? 1 : 0;
        library_.Recv(&reports[rank], sizeof(Progress), library_.constants.byte, rank, kReportTag, control_comm_,
                      ignore);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return reports;
}

std::string World::Name(int rank) const {
  std::string name = "rank " + std::to_string(rank) + " of " + std::to_string(info_.size);
  if (rank < static_cast<int>(hosts_.size())) name += " on " + hosts_[rank];
  if (rank == info_.rank) name += " (process " + std::to_string(getpid()) + ")";
  return name;
}

}  // namespace cudnn_rnn
