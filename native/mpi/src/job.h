// The MPI job that this process is a rank of: start-up, finalization and abnormal end.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "mpi_library.h"
#include "operation.h"

namespace cudnn_rnn {

/// The process ended although other ranks went on.
inline constexpr int kLeftExitCode = 70;
/// A rank is missing; EX_TEMPFAIL of sysexits.h, as starting again may help.
inline constexpr int kTimeoutExitCode = 75;

struct JobOptions {
  /// Libraries to try, in order.
  std::vector<std::string> libraries;
  /// The launcher's number of processes; 0 without a launcher.
  int expected_size = 0;
  double timeout_seconds = 600;
  /// See Note [Heartbeats].
  double silence_seconds = 8;
  /// See Note [Busy ranks].
  double busy_seconds = 60;
  /// The limit of a rank is longer at the start, and if it has computed for long before.
  bool learns_busy = false;
};

/// Properties of the job, constant once it is open.
struct JobInfo {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  bool names_missing_ranks = false;
  std::string library;
  std::string version;
  std::string abi;
};

/// Open() and Finalize() belong to the thread of MPI.
class Job {
 public:
  /// kOpen: MPI is initialized. kNoLibrary: nothing of MPI was called, another open may follow. kUnusable: MPI cannot
  /// be used in this process.
  enum class Opened { kOpen, kNoLibrary, kUnusable };

  /// Initializes MPI. Fills `failure` if the result is not kOpen; throws MpiError.
  Opened Open(const JobOptions& options, Failure* failure);
  /// Frees the communicators and finalizes MPI; throws MpiError.
  void Finalize();
  /// Prints `reason` and ends all ranks, this process at the latest after some seconds. Any thread.
  [[noreturn]] void Abort(const std::string& reason, int code);
  /// "rank 3 of 8 on host", for messages; the own rank with its process number.
  std::string Name(int rank) const;

  const MpiLibrary& library() const { return library_; }
  const JobInfo& info() const { return info_; }
  // Duplicates of MPI_COMM_WORLD: messages in one communicator never match those in another, so collectives, messages
  // of watchdogs and MPI calls of other code in the process cannot be confused.
  MpiHandle data_comm() const { return data_comm_; }
  MpiHandle control_comm() const { return control_comm_; }
  /// Between MPI_Init_thread and MPI_Finalize.
  bool is_initialized() const { return is_initialized_; }

 private:
  MpiLibrary library_;
  JobInfo info_;
  MpiHandle data_comm_ = 0;
  MpiHandle control_comm_ = 0;
  /// Host names by rank, gathered at opening, as a missing rank can no longer report its own.
  std::vector<std::string> hosts_;
  std::atomic<bool> is_initialized_ = false;
  std::atomic<bool> is_aborting_ = false;
};

}  // namespace cudnn_rnn
