// An MPI whose ranks are threads of one process: the tests open it as a library, in each of the three binary
// interfaces. A rank is the thread that calls MPI_Init_thread; its duplicated communicators name the rank, so its
// watchdog may use them too.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace in_process_mpi {

/// A call of MPI_Allreduce or MPI_Bcast, as the library received it.
struct Piece {
  std::string function;
  std::size_t offset = 0;
  int count = 0;
};

/// The job. A test sets the first part before its ranks start; the library writes the second.
struct Job {
  int size = 1;
  int ranks_per_host = 1;
  bool was_initialized = false;
  /// What MPI_Init_thread provides: MPI_THREAD_MULTIPLE of the interface if it is negative.
  int provided = -1;
  /// The function that fails on every rank, without its prefix, with the status 17.
  std::string failing;
  /// The rank to which no message arrives; none if it is negative.
  int deaf = -1;
  /// The number of calls of MPI_Recv for a message that is not empty that fail first, with the status 17.
  int failing_reports = 0;
  /// Collectives check and note their arguments, and move no data. For arrays that are larger than the memory.
  bool moves_nothing = false;

  std::mutex mutex;
  std::condition_variable changed;
  int started = 0;
  int finalized = 0;
  int freed = 0;
  std::vector<Piece> pieces;

  /// The library's state: communicators by handle, messages, and the collective that each context is in.
  struct Communicator {
    int rank = 0;
    int size = 1;
    int context = 0;
  };
  std::vector<Communicator> communicators;
  std::map<std::vector<int>, std::vector<std::vector<char>>> messages;
  struct Collective {
    int arrived = 0;
    long generation = 0;
    std::vector<std::function<void()>> deposits;
  };
  std::map<int, Collective> collectives;
};

/// The exported function that sets the job of a library: `extern "C" void in_process_mpi_begin(Job*)`.
using Begin = void (*)(Job*);
inline constexpr const char* kBegin = "in_process_mpi_begin";

/// Status of a failing call, and of a call with a wrong argument.
inline constexpr int kFailed = 17;
inline constexpr int kWrongArgument = 18;

}  // namespace in_process_mpi
