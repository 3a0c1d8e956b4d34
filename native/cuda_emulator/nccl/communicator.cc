#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>

#include "abi/nccl.h"
#include "core/device.h"
#include "core/entry.h"
#include "core/live_objects.h"
#include "core/schedule.h"
#include "core/settings.h"
#include "nccl/shared_barrier.h"

using namespace emulator;

namespace {

constexpr EntryRules kNccl{ncclUnhandledCudaError, ncclUnhandledCudaError, ncclUnhandledCudaError};
constexpr EntryRules kNcclAlways{ncclUnhandledCudaError, ncclUnhandledCudaError, 0};
constexpr char kPrefix[] = "/cudnn_rnn_nccl_";

struct Communicator {
  int rank = 0;
  int size = 1;
  int device = 0;
  /// The ranks that one thread made belong to one group of calls.
  std::string id;
  std::thread::id maker;
  std::unique_ptr<SharedBarrier> barrier;
  /// What ncclCommGetAsyncError answers.
  std::atomic<ncclResult_t> state{ncclInProgress};
  /// Synchronizes with the other ranks at the beginning and at the end.
  std::thread helper;
  bool is_finalized = false;

  ~Communicator() {
    if (helper.joinable()) helper.join();
  }
  void Synchronize() {
    if (helper.joinable()) helper.join();
    state = ncclInProgress;
    helper = std::thread([this] { state = barrier->Wait() ? ncclSuccess : ncclInternalError; });
  }
};

LiveObjects<ncclComm_t, Communicator>& Communicators() {
  static auto* all = new LiveObjects<ncclComm_t, Communicator>("nccl communicators");  // never destroyed
  return *all;
}

/// The bits of a bfloat16.
struct Bfloat16 {
  Bfloat16() = default;
  explicit Bfloat16(float value) {
    std::uint32_t word = 0;
    std::memcpy(&word, &value, sizeof word);
    bits = value != value ? 0x7fff : static_cast<std::uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
  float Value() const {
    const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
    float value = 0;
    std::memcpy(&value, &word, sizeof value);
    return value;
  }
  std::uint16_t bits = 0;
};

std::size_t BytesOf(int type) {
  switch (type) {
    case ncclInt32:
    case ncclFloat32:
      return 4;
    case ncclFloat64:
      return 8;
    case ncclBfloat16:
      return 2;
    default:
      return 0;
  }
}

template <class T>
T Combined(int operation, T a, T b) {
  if (operation == ncclSum) return a + b;
  return operation == ncclMin ? std::min(a, b) : std::max(a, b);
}

/// Rounded after every sum, as NCCL does.
template <>
Bfloat16 Combined(int operation, Bfloat16 a, Bfloat16 b) {
  return Bfloat16(Combined(operation, a.Value(), b.Value()));
}

/// Sums in the order of ranks, so that all have the same bits.
template <class T>
void Reduce(Communicator& communicator, T* data, std::size_t count, int operation) {
  SharedBarrier& barrier = *communicator.barrier;
  constexpr std::size_t kPiece = SharedBarrier::kSlotBytes / sizeof(T);
  for (std::size_t done = 0; done < count; done += kPiece) {
    const std::size_t piece = std::min(kPiece, count - done);
    std::memcpy(barrier.Slot(communicator.rank), data + done, piece * sizeof(T));
    if (!barrier.Wait()) return;
    for (std::size_t k = 0; k < piece; ++k) {
      T value = reinterpret_cast<const T*>(barrier.Slot(0))[k];
      for (int rank = 1; rank < communicator.size; ++rank) {
        value = Combined(operation, value, reinterpret_cast<const T*>(barrier.Slot(rank))[k]);
      }
      data[done + k] = value;
    }
    if (!barrier.Wait()) return;
  }
}

/// Copies the elements of `root` to all ranks.
void Copy(Communicator& communicator, std::uint8_t* data, std::size_t bytes, int root) {
  SharedBarrier& barrier = *communicator.barrier;
  for (std::size_t done = 0; done < bytes; done += SharedBarrier::kSlotBytes) {
    const std::size_t piece = std::min(SharedBarrier::kSlotBytes, bytes - done);
    if (communicator.rank == root) std::memcpy(barrier.Slot(root), data + done, piece);
    if (!barrier.Wait()) return;
    if (communicator.rank != root) std::memcpy(data + done, barrier.Slot(root), piece);
    if (!barrier.Wait()) return;
  }
}

/// Groups that this thread has begun and not ended.
thread_local int open_groups = 0;

/// Reports a call for one of several ranks of a thread outside a group: it may wait for the others forever.
void CheckGroup(const char* call, const Communicator& communicator) {
  if (open_groups > 0) return;
  const auto all = Communicators().All();
  const auto ranks = std::count_if(all.begin(), all.end(), [&](const auto& other) {
    return other->id == communicator.id && other->maker == std::this_thread::get_id();
  });
  if (ranks > 1) ReportViolation(std::string(call) + " for one of several ranks of a thread was made outside a group");
}

/// What all collectives require; null if `result` states why the call is refused.
std::shared_ptr<Communicator> Ready(const char* call, ncclComm_t handle, const std::shared_ptr<Stream>& stream, int type,
                                    ncclResult_t* result) {
  auto communicator = Communicators().Find(handle);
  *result = ncclInvalidArgument;
  if (communicator == nullptr || stream == nullptr || BytesOf(type) == 0) return nullptr;
  *result = ncclInvalidUsage;
  if (communicator->state != ncclSuccess) {
    ReportViolation("a call of NCCL was made before the one before it was accepted");
    return nullptr;
  }
  if (stream->device != communicator->device || CurrentDevice() != communicator->device) return nullptr;
  if (CaptureStatus(stream) != 0) {
    ReportViolation("a collective of NCCL was captured: other ranks may not capture theirs");
    return nullptr;
  }
  CheckGroup(call, *communicator);
  return communicator;
}

/// In a group a call is accepted by the group's end.
ncclResult_t Accepted(int status) {
  if (status != 0) return ncclUnhandledCudaError;
  return open_groups > 0 ? ncclSuccess : ncclInProgress;
}

}  // namespace

ncclResult_t ncclGroupStart() {
  EMULATOR_ENTER(kNccl);
  open_groups++;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  EMULATOR_ENTER(kNcclAlways);
  if (open_groups == 0) {
    ReportViolation("a group of NCCL was ended that was not begun");
    return ncclInvalidUsage;
  }
  open_groups--;
  return ncclInProgress;
}

ncclResult_t ncclGetVersion(int* version) {
  *version = 22707;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  EMULATOR_ENTER(kNccl);
  std::random_device random;
  std::memset(id, 0, sizeof *id);
  std::string name = kPrefix;
  for (int k = 0; k < 4; ++k) name += std::to_string(random());
  std::memcpy(id->internal, name.data(), name.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* handle, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  EMULATOR_ENTER(kNccl);
  if (config == nullptr || config->magic != 0xcafebeef || config->size < sizeof *config) return ncclInvalidArgument;
  if (ranks < 1 || ranks > SharedBarrier::kMostRanks || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  if (std::strncmp(id.internal, kPrefix, sizeof kPrefix - 1) != 0) return ncclInvalidArgument;
  if (config->blocking != 0) {
    ReportViolation("a communicator of NCCL is blocking: no deadline can end its calls");
    return ncclInvalidUsage;
  }
  auto made = std::make_shared<Communicator>();
  made->rank = rank;
  made->size = ranks;
  made->device = CurrentDevice();
  made->id = id.internal;
  made->maker = std::this_thread::get_id();
  for (const auto& other : Communicators().All()) {
    if (other->id != made->id) continue;
    // NCCL says: "Duplicate GPU detected".
    if (other->device == made->device) return ncclInvalidUsage;
  }
  try {
    made->barrier = std::make_unique<SharedBarrier>(std::string(id.internal), ranks);
  } catch (const std::exception&) {
    return ncclSystemError;
  }
  made->Synchronize();
  *handle = Communicators().Add(made);
  CheckGroup("ncclCommInitRankConfig", *made);
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* error) {
  EMULATOR_ENTER(kNcclAlways);
  const auto communicator = Communicators().Find(handle);
  if (communicator == nullptr || error == nullptr) return ncclInvalidArgument;
  *error = communicator->state;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, int type, int operation, ncclComm_t handle,
                           ncclStream_t given) {
  EMULATOR_ENTER(kNccl);
  const auto stream = FindStream(given);
  ncclResult_t result = ncclSuccess;
  const auto communicator = Ready("ncclAllReduce", handle, stream, type, &result);
  if (communicator == nullptr) return result;
  const std::size_t bytes = count * BytesOf(type);
  Operation work{.name = "ncclAllReduce"};
  work.accesses = {{from, bytes, false}, {to, bytes, true}};
  work.run = [=](int device) {
    const void* source = Resolve(device, from, bytes, "sendbuff");
    void* data = Resolve(device, to, bytes, "recvbuff");
    if (data != source) std::memcpy(data, source, bytes);
    if (type == ncclInt32) return Reduce(*communicator, static_cast<int*>(data), count, operation);
    if (type == ncclFloat64) return Reduce(*communicator, static_cast<double*>(data), count, operation);
    if (type == ncclBfloat16) return Reduce(*communicator, static_cast<Bfloat16*>(data), count, operation);
    Reduce(*communicator, static_cast<float*>(data), count, operation);
  };
  return Accepted(Enqueue(stream, std::move(work)));
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, int type, int root, ncclComm_t handle,
                           ncclStream_t given) {
  EMULATOR_ENTER(kNccl);
  const auto stream = FindStream(given);
  ncclResult_t result = ncclSuccess;
  const auto communicator = Ready("ncclBroadcast", handle, stream, type, &result);
  if (communicator == nullptr) return result;
  if (root < 0 || root >= communicator->size) return ncclInvalidArgument;
  const std::size_t bytes = count * BytesOf(type);
  Operation work{.name = "ncclBroadcast"};
  const bool is_root = communicator->rank == root;
  work.accesses = {is_root ? Access{from, bytes, false} : Access{to, bytes, true}};
  if (is_root && from != to) work.accesses.push_back({to, bytes, true});
  work.run = [=](int device) {
    void* data = Resolve(device, to, bytes, "recvbuff");
    if (is_root && from != to) std::memcpy(data, Resolve(device, from, bytes, "sendbuff"), bytes);
    Copy(*communicator, static_cast<std::uint8_t*>(data), bytes, root);
  };
  return Accepted(Enqueue(stream, std::move(work)));
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  EMULATOR_ENTER(kNccl);
  const auto communicator = Communicators().Find(handle);
  if (communicator == nullptr) return ncclInvalidArgument;
  CheckGroup("ncclCommFinalize", *communicator);
  communicator->is_finalized = true;
  communicator->Synchronize();
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  EMULATOR_ENTER(kNcclAlways);
  const auto communicator = Communicators().Remove(handle);
  if (communicator == nullptr) return ncclInvalidArgument;
  if (!communicator->is_finalized) ReportViolation("a communicator of NCCL was destroyed before it was finalized");
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  EMULATOR_ENTER(kNcclAlways);
  const auto communicator = Communicators().Remove(handle);
  if (communicator == nullptr) return ncclInvalidArgument;
  communicator->barrier->Abort();
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  static const char* const kTexts[] = {"no error",
                                       "unhandled cuda error",
                                       "unhandled system error",
                                       "internal error",
                                       "invalid argument",
                                       "invalid usage",
                                       "remote process exited or there was a network error",
                                       "NCCL operation in progress"};
  return result >= 0 && result <= ncclInProgress ? kTexts[result] : "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) { return ""; }
