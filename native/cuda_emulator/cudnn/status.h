#pragma once

#include <memory>
#include <string>

#include "abi/cudnn.h"
#include "core/cudnn_objects.h"
#include "core/device.h"
#include "core/entry.h"
#include "core/last_message.h"
#include "core/schedule.h"

namespace emulator {

// The statuses that the emulator returns, in the numbers of the major version that it is built as.
#if EMULATOR_CUDNN_MAJOR >= 9
enum : cudnnStatus_t {
  kSuccess = 0,
  kNotInitialized = 1001,
  kVersionMismatch = 1002,
  kBadParam = 2000,
  kNotSupported = 3000,
  kArchMismatch = 3007,
  kPrerequisiteMissing = 3008,
  kSublibraryMissing = 3009,
  kAllocFailed = 4004,
  kExecutionFailed = 5000,
  kExecutionFailedCudart = 5003,
};
#else
enum : cudnnStatus_t {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 2,
  kBadParam = 3,
  kArchMismatch = 6,
  kExecutionFailed = 8,
  kNotSupported = 9,
  kPrerequisiteMissing = 11,
  kVersionMismatch = 14,
  kSublibraryMissing = kNotInitialized,
  kExecutionFailedCudart = kExecutionFailed,
};
#endif

/// cuDNN's answers if it cannot work: no GPU, a process that ends, a broken device.
constexpr EntryRules kCudnn{kNotInitialized, kNotInitialized, kExecutionFailedCudart};

/// Like kCudnn, for descriptors, which a broken device does not touch.
constexpr EntryRules kCudnnHost{kNotInitialized, kNotInitialized, 0};

/// A broken rule that ends a call with `status`.
struct CudnnFailure {
  cudnnStatus_t status;
  std::string text;
};

[[noreturn]] inline void Fail(cudnnStatus_t status, std::string text) { throw CudnnFailure{status, std::move(text)}; }

inline void Require(bool condition, const char* text, cudnnStatus_t status = kBadParam) {
  if (!condition) Fail(status, text);
}

/// Runs a function's body and turns a failure into its status, with the text for cudnnGetLastErrorString.
template <class Body>
cudnnStatus_t Guarded(Body body) {
  try {
    body();
    return kSuccess;
  } catch (const CudnnFailure& failure) {
    SetLastMessage(failure.text);
    return failure.status;
  }
}

/// The object behind a handle or a descriptor; fails with BAD_PARAM for one that is null, destroyed or of another kind.
template <class Table, class Handle>
auto Live(const Table& table, Handle handle, const char* name) {
  auto object = table.Find(handle);
  if (object == nullptr) {
    if (handle != nullptr) ReportViolation(std::string(name) + " was destroyed, never created, or is of another kind");
    Fail(kBadParam, std::string("!") + name);
  }
  return object;
}

/// A handle in use by this call. Use by two threads at once is reported.
class HandleInUse {
 public:
  explicit HandleInUse(cudnnHandle_t handle) : handle_(Live(TheCudnnTables().handles, handle, "handle")) {
    if (handle_->busy.exchange(true)) ReportViolation("one cuDNN handle was used by two threads at once");
  }
  ~HandleInUse() { handle_->busy = false; }
  HandleInUse(const HandleInUse&) = delete;
  HandleInUse& operator=(const HandleInUse&) = delete;

  CudnnHandle* operator->() const { return handle_.get(); }

  /// The stream that the handle is set to; its device must be the handle's and the calling thread's.
  std::shared_ptr<Stream> LiveStream() const {
    const auto stream = FindStream(handle_->stream);
    Require(stream != nullptr, "the handle's stream was destroyed", kExecutionFailedCudart);
    const bool one_device = stream->device == handle_->device && CurrentDevice() == handle_->device;
    if (!one_device) ReportViolation("a cuDNN handle, its stream and the calling thread are on different devices");
    Require(one_device, "handle->device != current device");
    return stream;
  }

 private:
  std::shared_ptr<CudnnHandle> handle_;
};

}  // namespace emulator
