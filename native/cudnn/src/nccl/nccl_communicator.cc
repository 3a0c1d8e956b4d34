#include "nccl/nccl_communicator.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

#include "sys/dynamic_library.h"
#include "sys/status.h"

namespace cudnn_rnn {
namespace {

/// NCCL rejects a ncclConfig_t without this number (NCCL_CONFIG_INITIALIZER in nccl.h): it detects a structure that the
/// caller did not initialize.
constexpr unsigned kMagic = 0xcafebeef;
/// NCCL_VERSION(2, 14, 0), the first release with ncclConfig_t. A later NCCL reads only the fields of this version.
constexpr unsigned kConfigVersion = 21400;
/// Most calls end within this time: the thread does not sleep before.
constexpr auto kSpinTime = std::chrono::microseconds(200);
constexpr auto kPollInterval = std::chrono::microseconds(50);

NativeError NcclError(const char* call, const std::string& name, int status, const std::string& detail) {
  return {"nccl", call, name, detail, status};
}

}  // namespace

NcclTable BindNccl(void* library) {
  NcclTable table;
  const auto bind = [&](const char* name, void* slot) {
    void* address = FindSymbol(library, name);
    if (address == nullptr) throw NcclError("dlsym", std::string("it has no ") + name, 0, "");
    // A cast from a pointer to data to a pointer to a function is not portable C++ (see libraries.cc).
    std::memcpy(slot, static_cast<const void*>(&address), sizeof address);
  };
#define SYMBOL(result, name, parameters) bind(#name, static_cast<void*>(&table.name));
#include "sys/nccl_symbols.def"
#undef SYMBOL
  return table;
}

int NcclVersion(const NcclTable& nccl) {
  int version = 0;
  const ncclResult_t result = nccl.ncclGetVersion(&version);
  if (result == ncclSuccess) return version;
  throw NcclError("ncclGetVersion", nccl.ncclGetErrorString(result), result, "");
}

// One rank calls this and sends the 128 bytes to the others by separate means. NCCL listens on a socket from here on,
// and the id holds its address (NCCL user guide, "Creating a Communicator").
ncclUniqueId NewNcclId(const NcclTable& nccl) {
  ncclUniqueId id{};
  const ncclResult_t result = nccl.ncclGetUniqueId(&id);
  if (result == ncclSuccess) return id;
  throw NcclError("ncclGetUniqueId", nccl.ncclGetErrorString(result), result, "");
}

void NcclCommunicator::Start(std::unique_ptr<NcclOperation> first, Settle settle) {
  // Both before the thread starts: it reads them without the lock.
  settle_ = std::move(settle);
  Post(std::move(first));
  thread_ = std::thread([this] { Run(); });
}

void NcclCommunicator::Post(std::unique_ptr<NcclOperation> operation) {
  const std::lock_guard lock(mutex_);
  // Dropped behind the end: a worker that waits for it learns so.
  if (has_ended_) return;
  queue_.push_back(std::move(operation));
  changed_.notify_one();
}

void NcclCommunicator::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void NcclCommunicator::Run() {
  bool is_last = false;
  while (!is_last) {
    std::unique_ptr<NcclOperation> operation;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stops_ || !queue_.empty(); });
      // The environment ends: queued operations are dropped, as their promises can no longer settle.
      if (stops_) break;
      operation = std::move(queue_.front());
      queue_.pop_front();
    }
    Perform(*operation);
    const bool is_open = operation->kind == NcclOperationKind::kOpen;
    is_last = operation->kind == NcclOperationKind::kClose || (is_open && operation->error != nullptr);
    // Before the promise settles, so the caller of close() finds the device memory free.
    if (is_last) Release();
    settle_(std::move(operation));
  }
  Release();
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  queue_.clear();
}

// The deadline counts from here, not from the call in JavaScript: an operation that queues behind another is not late.
void NcclCommunicator::Perform(NcclOperation& operation) {
  began_ = std::chrono::steady_clock::now();
  const ErrorRef error = ErrorIn([&] {
    if (operation.kind == NcclOperationKind::kOpen) return Open();
    // After a failure, and at the end of the process, nothing can be done but to close.
    if (operation.kind == NcclOperationKind::kClose) return Close();
    if (!IsOpen()) Fail("ncclAllReduce", "ABORTED", 0, "an earlier call failed");
    if (operation.kind == NcclOperationKind::kAllReduce) return AllReduce(operation);
    CallOnStreams(operation);
  });
  if (!error) return;
  operation.error = error;
  LetContinue(operation);
  Abort();
}

void NcclCommunicator::LetContinue(NcclOperation& operation) {
  if (std::exchange(operation.is_taken, true)) return;
  for (CommunicatorEnd& end : operation.stream_calls) end.taken.set_value(operation.error);
}

void NcclCommunicator::Open() {
  SetDevice(members_.front());
  CALL_CUDART(*libraries_, cudaStreamCreateWithFlags, &stream_, cudaStreamNonBlocking);
  // blocking = 0: calls return ncclInProgress instead of waiting for other ranks, so this thread can watch the deadline
  // (NCCL user guide, "Fault Tolerance").
  ncclConfig_t config{sizeof config, kMagic, kConfigVersion, 0};
  int rank = options_.rank;
  CallForAll("ncclCommInitRankConfig", [&](Member& member) {
    return nccl_.ncclCommInitRankConfig(&member.communicator, options_.size, options_.id, rank++, &config);
  });
}

void NcclCommunicator::AllReduce(const NcclOperation& operation) {
  const auto& cudart = libraries_->cudart;
  const std::size_t bytes = operation.count * operation.element_bytes;
  // Ranks wait for each other with an empty array too.
  const std::size_t room = std::max(bytes, std::size_t{8});
  // Grows only. Gradients of one model have the same sizes in every step, so the buffer reaches its size in the first
  // one.
  if (room > buffer_bytes_) {
    if (buffer_ != nullptr) CALL_CUDART(*libraries_, cudaFree, buffer_);
    buffer_ = nullptr;
    buffer_bytes_ = 0;
    CALL_CUDART(*libraries_, cudaMalloc, &buffer_, room);
    buffer_bytes_ = room;
  }
  const auto copy = [&](void* to, const void* from, int kind) {
    if (bytes == 0) return;
    CALL_CUDART(*libraries_, cudaMemcpyAsync, to, from, bytes, kind, stream_);
  };
  if (bytes > 0) {
    copy(buffer_, operation.data, cudaMemcpyHostToDevice);
  } else {
    CALL_CUDART(*libraries_, cudaMemsetAsync, buffer_, 0, room, stream_);
  }
  const std::size_t count = bytes == 0 ? 1 : operation.count;
  // In place: NCCL allows the receive buffer to be the send buffer. The call returns when the kernel is queued.
  WaitForNccl(nccl_.ncclAllReduce(buffer_, buffer_, count, operation.type, operation.reduction,
                                  members_.front().communicator, stream_),
              "ncclAllReduce");
  // A copy to ordinary memory would wait inside the call.
  WaitUntil("ncclAllReduce", [&] {
    const cudaError_t status = cudart.cudaStreamQuery(stream_);
    if (status == cudaErrorNotReady) return false;
    CheckCudart(*libraries_, status, "cudaStreamQuery");
    return true;
  });
  copy(operation.data, buffer_, cudaMemcpyDeviceToHost);
  CALL_CUDART(*libraries_, cudaStreamSynchronize, stream_);
}

std::vector<StreamArrival> NcclCommunicator::WaitForWorkers(const char* call, NcclOperation& operation,
                                                            ErrorRef* error) {
  std::vector<StreamArrival> arrivals;
  for (CommunicatorEnd& end : operation.stream_calls) {
    WaitUntil(call, [&] { return end.arrived.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    try {
      arrivals.push_back(end.arrived.get());
    } catch (const std::future_error&) {
      arrivals.emplace_back();
      arrivals.back().error = std::make_shared<NativeError>(NcclError(call, "SESSION_CLOSED", 0, ""));
    }
    if (arrivals.back().error && !*error) *error = arrivals.back().error;
  }
  return arrivals;
}

void NcclCommunicator::CallOnStreams(NcclOperation& operation) {
  const auto& cudart = libraries_->cudart;
  const bool is_reduction = operation.kind == NcclOperationKind::kReduceOnStream;
  const char* const call = is_reduction ? "ncclAllReduce" : "ncclBroadcast";
  ErrorRef error;
  const std::vector<StreamArrival> arrivals = WaitForWorkers(call, operation, &error);
  const bool has_all_ranks = members_.size() == static_cast<std::size_t>(options_.size);
  if (error && has_all_ranks) {
    // No rank has made the call, so the communicators stay usable.
    operation.error = error;
    return LetContinue(operation);
  }
  if (error) throw NativeError(*error);
  for (Member& member : members_) {
    if (member.done != nullptr) continue;
    SetDevice(member);
    CALL_CUDART(*libraries_, cudaEventCreateWithFlags, &member.done, cudaEventDisableTiming);
  }
  std::size_t index = 0;
  CallForAll(call, [&](Member& member) {
    const StreamArrival& arrival = arrivals[index++];
    ncclResult_t result = ncclSuccess;
    for (std::size_t k = 0; k < arrival.arrays.size(); k++) {
      void* const data = arrival.arrays[k];
      const std::size_t count = operation.counts[k];
      const ncclResult_t status = is_reduction
                                      ? nccl_.ncclAllReduce(data, data, count, operation.type, operation.reduction,
                                                            member.communicator, arrival.stream)
                                      : nccl_.ncclBroadcast(data, data, count, operation.type, operation.root,
                                                            member.communicator, arrival.stream);
      if (status != ncclSuccess && status != ncclInProgress && result == ncclSuccess) result = status;
    }
    return result;
  });
  for (std::size_t k = 0; k < members_.size(); k++) {
    SetDevice(members_[k]);
    CALL_CUDART(*libraries_, cudaEventRecord, members_[k].done, arrivals[k].stream);
  }
  LetContinue(operation);
  for (const Member& member : members_) {
    WaitUntil(call, [&] {
      const cudaError_t status = cudart.cudaEventQuery(member.done);
      if (status == cudaErrorNotReady) return false;
      CheckCudart(*libraries_, status, "cudaEventQuery");
      return true;
    });
  }
}

void NcclCommunicator::Close() {
  if (!IsOpen()) return;
  // A non-blocking communicator must be finalized before it is destroyed: only this part communicates with other ranks,
  // and it can be polled (ncclCommFinalize in the NCCL user guide).
  CallForAll("ncclCommFinalize", [&](const Member& member) { return nccl_.ncclCommFinalize(member.communicator); });
  ncclResult_t result = ncclSuccess;
  for (Member& member : members_) {
    // Cleared first, so a failure of ncclCommDestroy does not lead to an abort of a destroyed communicator.
    const ncclComm_t communicator = std::exchange(member.communicator, nullptr);
    const ncclResult_t status = nccl_.ncclCommDestroy(communicator);
    if (result == ncclSuccess) result = status;
  }
  CheckNccl(result, "ncclCommDestroy");
}

void NcclCommunicator::Release() {
  const auto& cudart = libraries_->cudart;
  Abort();
  // The kernels of an aborted communicator have ended, so cudaFree does not wait for them forever.
  // Nothing can be done about a failure here.
  if (buffer_ != nullptr) cudart.cudaFree(buffer_);
  for (Member& member : members_) {
    if (member.done != nullptr) cudart.cudaEventDestroy(member.done);
    member.done = nullptr;
  }
  if (stream_ != nullptr) cudart.cudaStreamDestroy(stream_);
  buffer_ = nullptr;
  buffer_bytes_ = 0;
  stream_ = nullptr;
}

void NcclCommunicator::Abort() {
  for (Member& member : members_) {
    if (member.communicator != nullptr) nccl_.ncclCommAbort(member.communicator);
    member.communicator = nullptr;
  }
}

void NcclCommunicator::CallForAll(const char* call, const std::function<ncclResult_t(Member&)>& make) {
  CheckNccl(nccl_.ncclGroupStart(), "ncclGroupStart");
  ncclResult_t result = ncclSuccess;
  ErrorRef error;
  for (Member& member : members_) {
    error = ErrorIn([&] { SetDevice(member); });
    if (error) break;
    const ncclResult_t status = make(member);
    if (status != ncclSuccess && status != ncclInProgress && result == ncclSuccess) result = status;
  }
  // A group must be ended, also after a failure in it.
  const ncclResult_t ended = nccl_.ncclGroupEnd();
  if (error) throw NativeError(*error);
  CheckNccl(result, call);
  WaitForNccl(ended, call);
}

// The current device is a property of the thread. A communicator belongs to the device that is current when it is made.
void NcclCommunicator::SetDevice(const Member& member) { CALL_CUDART(*libraries_, cudaSetDevice, member.device); }

void NcclCommunicator::WaitUntil(const char* call, const std::function<bool()>& is_done) {
  const auto began = std::chrono::steady_clock::now();
  while (!is_done()) {
    // An error of the network or of another rank appears here only: the stream would never become idle.
    for (const Member& member : members_) {
      if (member.communicator == nullptr) continue;
      ncclResult_t state = ncclSuccess;
      CheckNccl(nccl_.ncclCommGetAsyncError(member.communicator, &state), "ncclCommGetAsyncError");
      if (state != ncclInProgress) CheckNccl(state, call);
    }
    if (stops_) Fail(call, "ABORTED", 0, "the process ends");
    const auto now = std::chrono::steady_clock::now();
    if (std::chrono::duration<double>(now - began_).count() > options_.timeout_seconds) {
      std::ostringstream seconds;
      seconds << options_.timeout_seconds;
      Fail(call, "TIMEOUT", 0, seconds.str());
    }
    if (now - began > kSpinTime) std::this_thread::sleep_for(kPollInterval);
  }
}

void NcclCommunicator::WaitForNccl(ncclResult_t result, const char* call) {
  if (result != ncclInProgress) CheckNccl(result, call);
  WaitUntil(call, [&] {
    return std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
      ncclResult_t state = ncclSuccess;
      CheckNccl(nccl_.ncclCommGetAsyncError(member.communicator, &state), "ncclCommGetAsyncError");
      if (state != ncclInProgress) CheckNccl(state, call);
      return state == ncclSuccess;
    });
  });
}

void NcclCommunicator::CheckNccl(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  // The last error of the process. NCCL accepts a null communicator here.
  const char* detail = nccl_.ncclGetLastError(members_.front().communicator);
  Fail(call, nccl_.ncclGetErrorString(result), result, detail == nullptr ? "" : detail);
}

void NcclCommunicator::Fail(const char* call, const char* name, int status, const std::string& detail) {
  throw NcclError(call, name, status, detail);
}

}  // namespace cudnn_rnn
