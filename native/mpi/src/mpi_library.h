// The system's MPI, opened at run time. There are three binary interfaces: Open MPI's, MPICH's (also Intel's, Cray's
// and MVAPICH's) and the standard one of MPI 5. They differ in the values of handles and constants, which one table
// holds, and in the width of a handle: every handle is passed as 64 bits here, of which an MPICH library reads the
// lower 32. That holds on little-endian machines whose calling convention passes both in a register (x86-64, AArch64).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudnn_rnn {

/// A communicator, datatype or operation. Open MPI's handles are pointers, MPICH's are 32-bit integers and the
/// standard ABI's are small integers in pointer type, so the widest of the three holds all.
using MpiHandle = std::uintptr_t;

/// Handles and constants of one library. mpi.h defines them as macros, so a program compiled against one mpi.h cannot
/// use another library; here they are data, chosen after the library is open.
struct MpiConstants {
  MpiHandle world, float32, float64, int32, int64, byte, sum, min, max, errors_return, info_null;
  void* in_place;
  void* status_ignore;
  int shared_type;
  int thread_multiple;
};

/// A call of MPI that failed.
struct MpiError {
  const char* call;
  std::string detail;
};

/// Every function that is called: name, then the types of its parameters. All return an int.
#define CUDNN_RNN_MPI_FUNCTIONS(X)                                                                                    \
  X(Initialized, (int*))                                                                                              \
  X(Init_thread, (int*, char***, int, int*))                                                                          \
  X(Finalize, ())                                                                                                     \
  X(Abort, (MpiHandle, int))                                                                                          \
  X(Comm_size, (MpiHandle, int*))                                                                                     \
  X(Comm_rank, (MpiHandle, int*))                                                                                     \
  X(Comm_dup, (MpiHandle, MpiHandle*))                                                                                \
  X(Comm_split_type, (MpiHandle, int, int, MpiHandle, MpiHandle*))                                                    \
  X(Comm_free, (MpiHandle*))                                                                                          \
  X(Comm_set_errhandler, (MpiHandle, MpiHandle))                                                                      \
  X(Error_string, (int, char*, int*))                                                                                 \
  X(Get_library_version, (char*, int*))                                                                               \
  X(Allreduce, (const void*, void*, int, MpiHandle, MpiHandle, MpiHandle))                                            \
  X(Bcast, (void*, int, MpiHandle, int, MpiHandle))                                                                   \
  X(Allgather, (const void*, int, MpiHandle, void*, int, MpiHandle, MpiHandle))                                       \
  X(Allgatherv, (const void*, int, MpiHandle, void*, const int*, const int*, MpiHandle, MpiHandle))                   \
  X(Alltoallv, (const void*, const int*, const int*, MpiHandle, void*, const int*, const int*, MpiHandle, MpiHandle)) \
  X(Barrier, (MpiHandle))                                                                                             \
  X(Iprobe, (int, int, MpiHandle, int*, void*))                                                                       \
  X(Recv, (void*, int, MpiHandle, int, int, MpiHandle, void*))                                                        \
  X(Isend, (const void*, int, MpiHandle, int, int, MpiHandle, MpiHandle*))                                            \
  X(Request_free, (MpiHandle*))

/// An opened library: its constants and the addresses of its functions. Never unloaded, so copies stay valid.
struct MpiLibrary {
  /// The name that it was opened by.
  std::string name;
  /// 'open-mpi', 'mpich' or 'standard'.
  const char* abi = "";
  MpiConstants constants{};
#define CUDNN_RNN_DECLARE(function, parameters) int(*function) parameters = nullptr;
  CUDNN_RNN_MPI_FUNCTIONS(CUDNN_RNN_DECLARE)
#undef CUDNN_RNN_DECLARE

  /// The library's first line about itself.
  std::string Version() const;
  /// The library's text for `status` (MPI_Error_string), or the number if the library has none.
  std::string ErrorText(int status) const;
  /// Throws MpiError unless `status` is MPI_SUCCESS (0 in all three interfaces). Statuses are returned at all because
  /// Job::Open() installs MPI_ERRORS_RETURN; the default handler ends the process.
  void Check(int status, const char* call) const;
};

/// Calls a function of MPI by its name. Throws MpiError unless its status is success.
#define CALL_MPI(library, function, ...) (library).Check((library).function(__VA_ARGS__), "MPI_" #function)

/// Opens the first library of `names` that is an MPI, for the rest of the process; false if none is, and then
/// `attempts` has one sentence for each name.
bool OpenMpiLibrary(const std::vector<std::string>& names, MpiLibrary* library, std::vector<std::string>* attempts);

}  // namespace cudnn_rnn
