// One library of in_process_mpi.h. IN_PROCESS_MPI_ABI chooses the interface: 1 MPICH's, 2 Open MPI's, 3 the standard's.
// The values are from the libraries' mpi.h.
#include "in_process_mpi.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using in_process_mpi::Job;
using in_process_mpi::kFailed;
using in_process_mpi::kWrongArgument;

#define MPI_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

Job* job = nullptr;
thread_local int own_rank = 0;

}  // namespace

#if IN_PROCESS_MPI_ABI == 2
// Open MPI's handles are the addresses of exported objects.
#define OBJECT(name)       \
  MPI_EXPORT char name[8]; \
  char name[8];
OBJECT(ompi_mpi_comm_world)
OBJECT(ompi_mpi_float)
OBJECT(ompi_mpi_double)
OBJECT(ompi_mpi_int32_t)
OBJECT(ompi_mpi_int64_t)
OBJECT(ompi_mpi_byte)
OBJECT(ompi_mpi_op_sum)
OBJECT(ompi_mpi_op_min)
OBJECT(ompi_mpi_op_max)
OBJECT(ompi_mpi_errors_return)
#ifndef IN_PROCESS_MPI_LACKS_OBJECT
OBJECT(ompi_mpi_info_null)
#else
static char ompi_mpi_info_null[8];
#endif
using Handle = void*;
static Handle const kWorld = ompi_mpi_comm_world;
static Handle const kFloat = ompi_mpi_float;
static Handle const kDouble = ompi_mpi_double;
static Handle const kInt32 = ompi_mpi_int32_t;
static Handle const kInt64 = ompi_mpi_int64_t;
static Handle const kByte = ompi_mpi_byte;
static Handle const kSum = ompi_mpi_op_sum;
static Handle const kMin = ompi_mpi_op_min;
static Handle const kMax = ompi_mpi_op_max;
static Handle const kErrorsReturn = ompi_mpi_errors_return;
static Handle const kInfoNull = ompi_mpi_info_null;
static void* const kInPlace = reinterpret_cast<void*>(1);
static void* const kStatusIgnore = nullptr;
constexpr int kShared = 0;
constexpr int kThreadMultiple = 3;
#elif IN_PROCESS_MPI_ABI == 3
using Handle = void*;
static Handle Value(std::uintptr_t value) { return reinterpret_cast<Handle>(value); }
static Handle const kWorld = Value(0x101);
static Handle const kFloat = Value(0x210);
static Handle const kDouble = Value(0x214);
static Handle const kInt32 = Value(0x250);
static Handle const kInt64 = Value(0x258);
static Handle const kByte = Value(0x247);
static Handle const kSum = Value(0x21);
static Handle const kMin = Value(0x22);
static Handle const kMax = Value(0x23);
static Handle const kErrorsReturn = Value(0x143);
static Handle const kInfoNull = Value(0x130);
static void* const kInPlace = Value(1);
static void* const kStatusIgnore = nullptr;
constexpr int kShared = 221;
constexpr int kThreadMultiple = 4096;
#else
// 32 bits: the upper half of an argument of 64 is not read, and only the lower half of a result is written.
using Handle = int;
constexpr Handle kWorld = 0x44000000;
constexpr Handle kFloat = 0x4c00040a;
constexpr Handle kDouble = 0x4c00080b;
constexpr Handle kInt32 = 0x4c000439;
constexpr Handle kInt64 = 0x4c00083a;
constexpr Handle kByte = 0x4c00010d;
constexpr Handle kMax = 0x58000001;
constexpr Handle kMin = 0x58000002;
constexpr Handle kSum = 0x58000003;
constexpr Handle kErrorsReturn = 0x54000001;
constexpr Handle kInfoNull = 0x1c000000;
static void* const kInPlace = reinterpret_cast<void*>(-1);
static void* const kStatusIgnore = reinterpret_cast<void*>(1);
constexpr int kShared = 1;
constexpr int kThreadMultiple = 3;
#endif

namespace {

/// Handles of communicators that the library made.
constexpr std::intptr_t kFirstHandle = 0x84000000 & 0x7fffffff;

Handle HandleOf(std::size_t index) { return (Handle)(kFirstHandle + static_cast<std::intptr_t>(index)); }

Job::Communicator CommunicatorOf(Handle handle) {
  if (handle == kWorld) return {own_rank, job->size, 0};
  const auto index = (std::intptr_t)handle - kFirstHandle;
  const std::lock_guard lock(job->mutex);
  return job->communicators.at(static_cast<std::size_t>(index));
}

int NewCommunicator(Job::Communicator communicator, Handle* result) {
  const std::lock_guard lock(job->mutex);
  *result = HandleOf(job->communicators.size());
  job->communicators.push_back(communicator);
  return 0;
}

bool Fails(const char* function) { return job->failing == function; }

std::size_t SizeOf(Handle type) {
  if (type == kByte) return 1;
  if (type == kDouble || type == kInt64) return 8;
  return type == kFloat || type == kInt32 ? 4 : 0;
}

/// Waits for every rank of the communicator; the last one runs the deposits of all, in the order of the ranks.
int Synchronize(Handle handle, std::function<void()> deposit) {
  const Job::Communicator own = CommunicatorOf(handle);
  std::unique_lock lock(job->mutex);
  Job::Collective& collective = job->collectives[own.context];
  if (collective.arrived == 0) collective.deposits.assign(static_cast<std::size_t>(own.size), nullptr);
  collective.deposits[static_cast<std::size_t>(own.rank)] = std::move(deposit);
  if (++collective.arrived == own.size) {
    for (const auto& each : collective.deposits) {
      if (each && !job->moves_nothing) each();
    }
    collective.arrived = 0;
    collective.generation++;
    job->changed.notify_all();
  } else {
    const long generation = collective.generation;
    job->changed.wait(lock, [&] { return collective.generation != generation; });
  }
  return 0;
}

/// In two rounds: the buffers of all ranks are copied, then all results are written. Both run on the thread of the last
/// rank, while the others wait.
int Collect(Handle handle, std::function<void()> send, std::function<void()> take) {
  Synchronize(handle, std::move(send));
  return Synchronize(handle, std::move(take));
}

/// Bytes that ranks have sent in a collective, by context and rank.
std::map<std::pair<int, int>, std::vector<char>> sent;

void Send(const Job::Communicator& own, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  sent[{own.context, own.rank}] = bytes == 0 ? std::vector<char>() : std::vector<char>(from, from + bytes);
}

const std::vector<char>& SentBy(const Job::Communicator& own, int rank) { return sent[{own.context, rank}]; }

template <typename T>
void ReduceInto(T* data, std::size_t count, const Job::Communicator& own, Handle reduction) {
  for (std::size_t k = 0; k < count; k++) {
    T total{};
    for (int rank = 0; rank < own.size; rank++) {
      T value;
      std::memcpy(&value, SentBy(own, rank).data() + k * sizeof(T), sizeof(T));
      if (rank == 0) {
        total = value;
      } else if (reduction == kSum) {
        total += value;
      } else {
        total = reduction == kMin ? std::min(total, value) : std::max(total, value);
      }
    }
    data[k] = total;
  }
}

void Copy(void* to, const std::vector<char>& from, std::size_t offset, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from.data() + offset, bytes);
}

}  // namespace

MPI_EXPORT void in_process_mpi_begin(Job* begun) {
  job = begun;
  sent.clear();
}

#if IN_PROCESS_MPI_ABI == 3
MPI_EXPORT int MPI_Abi_get_version(int* major, int* minor) {
  *major = 1;
  *minor = 0;
  return 0;
}
#elif IN_PROCESS_MPI_ABI == 2
// Like Open MPI's ordinary library.
MPI_EXPORT int MPI_Abi_get_version(int* major, int* minor) {
  *major = -1;
  *minor = -1;
  return 0;
}
#endif

MPI_EXPORT int MPI_Initialized(int* flag) {
  *flag = job->was_initialized ? 1 : 0;
  return Fails("Initialized") ? kFailed : 0;
}

MPI_EXPORT int MPI_Init_thread(int*, char***, int required, int* provided) {
  if (Fails("Init_thread")) return kFailed;
  if (required != kThreadMultiple) return kWrongArgument;
  const std::lock_guard lock(job->mutex);
  own_rank = job->started++;
  *provided = job->provided < 0 ? kThreadMultiple : job->provided;
  return 0;
}

MPI_EXPORT int MPI_Finalize() {
  if (Fails("Finalize")) return kFailed;
  const std::lock_guard lock(job->mutex);
  job->finalized++;
  return 0;
}

MPI_EXPORT int MPI_Abort(Handle communicator, int code) {
  std::fprintf(stderr, "MPI_Abort of %s with %d\n", communicator == kWorld ? "the world" : "another communicator",
               code);
  _exit(code);
}

MPI_EXPORT int MPI_Comm_size(Handle communicator, int* size) {
  if (Fails("Comm_size")) return kFailed;
  *size = CommunicatorOf(communicator).size;
  return 0;
}

MPI_EXPORT int MPI_Comm_rank(Handle communicator, int* rank) {
  if (Fails("Comm_rank")) return kFailed;
  *rank = CommunicatorOf(communicator).rank;
  return 0;
}

MPI_EXPORT int MPI_Comm_dup(Handle communicator, Handle* result) {
  if (Fails("Comm_dup")) return kFailed;
  Job::Communicator made = CommunicatorOf(communicator);
  // The n-th duplicate of every rank is one communicator.
  thread_local int duplicates = 0;
  thread_local Job* counted = nullptr;
  if (counted != job) duplicates = 0;
  counted = job;
  made.context = ++duplicates;
  return NewCommunicator(made, result);
}

MPI_EXPORT int MPI_Comm_split_type(Handle communicator, int type, int key, Handle info, Handle* result) {
  if (Fails("Comm_split_type")) return kFailed;
  if (type != kShared || info != kInfoNull || key != own_rank) return kWrongArgument;
  const Job::Communicator own = CommunicatorOf(communicator);
  const int host = own.rank / job->ranks_per_host;
  const int first = host * job->ranks_per_host;
  return NewCommunicator({own.rank - first, std::min(job->ranks_per_host, own.size - first), 1000 + host}, result);
}

MPI_EXPORT int MPI_Comm_free(Handle* communicator) {
  if (Fails("Comm_free")) return kFailed;
  CommunicatorOf(*communicator);
  const std::lock_guard lock(job->mutex);
  job->freed++;
  return 0;
}

MPI_EXPORT int MPI_Comm_set_errhandler(Handle communicator, Handle handler) {
  if (Fails("Comm_set_errhandler")) return kFailed;
  return communicator == kWorld && handler == kErrorsReturn ? 0 : kWrongArgument;
}

MPI_EXPORT int MPI_Error_string(int status, char* text, int* length) {
  *length = std::snprintf(text, 256, "error %d of the test", status);
  return 0;
}

MPI_EXPORT int MPI_Get_library_version(char* text, int* length) {
  *length = std::snprintf(text, 256, "In-process MPI 1.0, package: tests\nsecond line");
  return 0;
}

MPI_EXPORT int MPI_Allreduce(const void* from, void* data, int count, Handle type, Handle reduction, Handle handle) {
  if (Fails("Allreduce")) return kFailed;
  if (from != kInPlace || SizeOf(type) == 0 || type == kByte) return kWrongArgument;
  if (reduction != kSum && reduction != kMin && reduction != kMax) return kWrongArgument;
  const Job::Communicator own = CommunicatorOf(handle);
  const auto elements = static_cast<std::size_t>(count);
  {
    const std::lock_guard lock(job->mutex);
    job->pieces.push_back({"Allreduce", reinterpret_cast<std::size_t>(data), count});
  }
  return Collect(
      handle, [=] { Send(own, data, elements * SizeOf(type)); },
      [=] {
        if (type == kFloat) return ReduceInto(static_cast<float*>(data), elements, own, reduction);
        if (type == kDouble) return ReduceInto(static_cast<double*>(data), elements, own, reduction);
        ReduceInto(static_cast<std::int32_t*>(data), elements, own, reduction);
      });
}

MPI_EXPORT int MPI_Bcast(void* data, int count, Handle type, int root, Handle handle) {
  if (Fails("Bcast")) return kFailed;
  if (type != kByte) return kWrongArgument;
  const Job::Communicator own = CommunicatorOf(handle);
  {
    const std::lock_guard lock(job->mutex);
    job->pieces.push_back({"Bcast", reinterpret_cast<std::size_t>(data), count});
  }
  return Collect(
      handle, [=] { Send(own, data, static_cast<std::size_t>(count)); },
      [=] { Copy(data, SentBy(own, root), 0, static_cast<std::size_t>(count)); });
}

MPI_EXPORT int MPI_Allgather(const void* from, int count, Handle type, void* to, int room, Handle to_type,
                             Handle handle) {
  if (Fails("Allgather")) return kFailed;
  if (count != room || type != to_type || SizeOf(type) == 0) return kWrongArgument;
  const Job::Communicator own = CommunicatorOf(handle);
  const std::size_t bytes = static_cast<std::size_t>(count) * SizeOf(type);
  return Collect(
      handle, [=] { Send(own, from, bytes); },
      [=] {
        for (int rank = 0; rank < own.size; rank++) {
          Copy(static_cast<char*>(to) + static_cast<std::size_t>(rank) * bytes, SentBy(own, rank), 0, bytes);
        }
      });
}

MPI_EXPORT int MPI_Allgatherv(const void* from, int count, Handle type, void* to, const int* counts, const int* offsets,
                              Handle to_type, Handle handle) {
  if (Fails("Allgatherv")) return kFailed;
  if (type != kByte || to_type != kByte) return kWrongArgument;
  const Job::Communicator own = CommunicatorOf(handle);
  if (counts[own.rank] != count) return kWrongArgument;
  return Collect(
      handle, [=] { Send(own, from, static_cast<std::size_t>(count)); },
      [=] {
        for (int rank = 0; rank < own.size; rank++) {
          Copy(static_cast<char*>(to) + offsets[rank], SentBy(own, rank), 0, static_cast<std::size_t>(counts[rank]));
        }
      });
}

MPI_EXPORT int MPI_Alltoallv(const void* from, const int* counts, const int* offsets, Handle type, void* to,
                             const int* to_counts, const int* to_offsets, Handle to_type, Handle handle) {
  if (Fails("Alltoallv")) return kFailed;
  if (type != kByte || to_type != kByte) return kWrongArgument;
  const Job::Communicator own = CommunicatorOf(handle);
  std::size_t bytes = 0;
  for (int rank = 0; rank < own.size; rank++) {
    bytes = std::max(bytes, static_cast<std::size_t>(offsets[rank]) + static_cast<std::size_t>(counts[rank]));
  }
  // Every rank takes its part of what each of the others has sent: parts begin where the receiver's begin at the
  // sender.
  return Collect(
      handle, [=] { Send(own, from, bytes); },
      [=] {
        for (int rank = 0; rank < own.size; rank++) {
          Copy(static_cast<char*>(to) + to_offsets[rank], SentBy(own, rank),
               static_cast<std::size_t>(offsets[own.rank]), static_cast<std::size_t>(to_counts[rank]));
        }
      });
}

MPI_EXPORT int MPI_Barrier(Handle handle) {
  if (Fails("Barrier")) return kFailed;
  return Synchronize(handle, nullptr);
}

#ifndef IN_PROCESS_MPI_LACKS_IPROBE
MPI_EXPORT int MPI_Iprobe(int rank, int tag, Handle handle, int* flag, void* status) {
  if (status != kStatusIgnore) return kWrongArgument;
  const Job::Communicator own = CommunicatorOf(handle);
  const std::lock_guard lock(job->mutex);
  *flag = job->messages[{own.context, rank, own.rank, tag}].empty() ? 0 : 1;
  return 0;
}
#endif

MPI_EXPORT int MPI_Recv(void* data, int count, Handle type, int rank, int tag, Handle handle, void* status) {
  if (status != kStatusIgnore || type != kByte) return kWrongArgument;
  const Job::Communicator own = CommunicatorOf(handle);
  const std::lock_guard lock(job->mutex);
  auto& waiting = job->messages[{own.context, rank, own.rank, tag}];
  // A real library would wait.
  if (waiting.empty() || waiting.front().size() > static_cast<std::size_t>(count)) return kWrongArgument;
  if (!waiting.front().empty() && job->failing_reports > 0) {
    job->failing_reports--;
    return kFailed;
  }
  Copy(data, waiting.front(), 0, waiting.front().size());
  waiting.erase(waiting.begin());
  return 0;
}

MPI_EXPORT int MPI_Isend(const void* data, int count, Handle type, int rank, int tag, Handle handle, Handle* request) {
  if (type != kByte) return kWrongArgument;
  const Job::Communicator own = CommunicatorOf(handle);
  const std::lock_guard lock(job->mutex);
  const auto* from = static_cast<const char*>(data);
  if (rank != job->deaf) job->messages[{own.context, own.rank, rank, tag}].emplace_back(from, from + count);
  *request = HandleOf(0);
  return 0;
}

MPI_EXPORT int MPI_Request_free(Handle*) { return 0; }
