#include "job.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <thread>

namespace cudnn_rnn {
namespace {

/// Bytes of a host name in the table of hosts, with the terminating zero; a longer name is cut.
constexpr int kHostBytes = 64;
/// Time for the launcher to forward the error message, which it read from stderr, before it learns of the abort.
constexpr auto kOutputDelay = std::chrono::milliseconds(200);
/// Longest wait for the launcher to read stderr; a busy host may run it late.
constexpr auto kOutputGrace = std::chrono::seconds(1);
/// If MPI_Abort does not return or end the process within this time, it is ended without MPI.
constexpr auto kAbortGrace = std::chrono::seconds(5);

/// Whether stderr is a pipe, as it is under a launcher.
bool IsStderrPipe() {
#ifdef F_GETPIPE_SZ
  // Linux. The call fails for a file that is not a pipe; fstat would require glibc 2.33.
  return fcntl(STDERR_FILENO, F_GETPIPE_SZ) >= 0;
#else
  struct stat status;
  return fstat(STDERR_FILENO, &status) == 0 && S_ISFIFO(status.st_mode);
#endif
}

/// Waits until everything written to a stderr that is a pipe has been read. Returns immediately on a system that
/// reports no unread bytes at the writing end.
void AwaitReaderOfStderr() {
  if (!IsStderrPipe()) return;
  const auto deadline = std::chrono::steady_clock::now() + kOutputGrace;
  int unread = 0;
  while (ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

Job::Opened Job::Open(const JobOptions& options, Failure* failure) {
  std::vector<std::string> attempts;
  if (!OpenMpiLibrary(options.libraries, &library_, &attempts)) {
    *failure = {"ERR_COMMUNICATOR_UNAVAILABLE", "dlopen", "", attempts};
    return Opened::kNoLibrary;
  }
  info_.library = library_.name;
  info_.version = library_.Version();
  info_.abi = library_.abi;
  const MpiConstants& c = library_.constants;
  int flag = 0;
  // MPI_Init_thread may be called once per process. Another addon that has called it owns the threads and the
  // finalization.
  CALL_MPI(library_, Initialized, &flag);
  if (flag != 0) {
    *failure = {"ERR_COMMUNICATOR_UNAVAILABLE", "MPI_Initialized", "this process has initialized MPI", {}};
    return Opened::kUnusable;
  }
  int provided = 0;
  CALL_MPI(library_, Init_thread, nullptr, nullptr, c.thread_multiple, &provided);
  is_initialized_ = true;
  // Inherited by the duplicates below. The default, MPI_ERRORS_ARE_FATAL, would end the process inside MPI.
  CALL_MPI(library_, Comm_set_errhandler, c.world, c.errors_return);
  CALL_MPI(library_, Comm_size, c.world, &info_.size);
  CALL_MPI(library_, Comm_rank, c.world, &info_.rank);
  // With the wrong library for the launcher, each process is rank 0 of a job of 1: every process would train alone.
  if (options.expected_size > 0 && options.expected_size != info_.size) {
    CALL_MPI(library_, Finalize);
    is_initialized_ = false;
    *failure = {"ERR_WORLD_MISMATCH", "MPI_Comm_size", std::to_string(info_.size), {}};
    return Opened::kUnusable;
  }
  CALL_MPI(library_, Comm_dup, c.world, &data_comm_);
  CALL_MPI(library_, Comm_dup, c.world, &control_comm_);
  // MPI_COMM_TYPE_SHARED groups the ranks that share memory, that is, one host. The key, the rank, keeps their order.
  MpiHandle shared = 0;
  CALL_MPI(library_, Comm_split_type, c.world, c.shared_type, info_.rank, c.info_null, &shared);
  CALL_MPI(library_, Comm_size, shared, &info_.local_size);
  CALL_MPI(library_, Comm_rank, shared, &info_.local_rank);
  CALL_MPI(library_, Comm_free, &shared);

  char host[kHostBytes] = "";
  if (gethostname(host, sizeof host) != 0) host[0] = '\0';
  host[kHostBytes - 1] = '\0';
  std::vector<char> hosts(static_cast<std::size_t>(info_.size) * kHostBytes);
  CALL_MPI(library_, Allgather, host, kHostBytes, c.byte, hosts.data(), kHostBytes, c.byte, data_comm_);
  for (int rank = 0; rank < info_.size; rank++) hosts_.emplace_back(hosts.data() + rank * kHostBytes);
  info_.names_missing_ranks = provided == c.thread_multiple;
  return Opened::kOpen;
}

void Job::Finalize() {
  CALL_MPI(library_, Comm_free, &data_comm_);
  CALL_MPI(library_, Comm_free, &control_comm_);
  CALL_MPI(library_, Finalize);
  is_initialized_ = false;
}

void Job::Abort(const std::string& reason, int code) {
  const int status = (code & 0xff) == 0 ? kLeftExitCode : code & 0xff;
  // Two threads may abort. The first one ends the process; the second must not return, as this function does not.
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
  // MPICH's launcher drops output that it has not passed on when it learns of the abort.
  AwaitReaderOfStderr();
  std::this_thread::sleep_for(kOutputDelay);
  const int aborted = is_initialized_ ? library_.Abort(library_.constants.world, status) : 0;
  if (aborted != 0) {
    const std::string failed = "cudnn-rnn: " + Name(info_.rank) + ": MPI_Abort failed (" + library_.ErrorText(aborted) +
                               "), so that only the launcher can end the other ranks\n";
    if (write(STDERR_FILENO, failed.data(), failed.size()) < 0) errno = 0;
  }
  _exit(status);
}

std::string Job::Name(int rank) const {
  // MPI has yet to say which rank this process is.
  if (hosts_.empty()) return "process " + std::to_string(getpid());
  std::string name = "rank " + std::to_string(rank) + " of " + std::to_string(info_.size);
  if (rank < static_cast<int>(hosts_.size())) name += " on " + hosts_[rank];
  if (rank == info_.rank) name += " (process " + std::to_string(getpid()) + ")";
  return name;
}

}  // namespace cudnn_rnn
