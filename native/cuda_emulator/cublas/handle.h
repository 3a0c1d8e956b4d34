#pragma once

#include <atomic>
#include <memory>

#include "abi/cublas.h"
#include "core/entry.h"
#include "core/live_objects.h"
#include "core/schedule.h"

namespace emulator {

/// cuBLAS's answers if it cannot work: no GPU, a process that ends, a broken device.
constexpr EntryRules kCublas{CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED,
                             CUBLAS_STATUS_EXECUTION_FAILED};
constexpr EntryRules kCublasAlways{CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED, 0};

struct CublasHandle {
  int device = 0;
  cublasStream_t stream = nullptr;
  int math_mode = 0;
  int pointer_mode = CUBLAS_POINTER_MODE_HOST;
  std::atomic<bool> busy{false};
};

LiveObjects<cublasHandle_t, CublasHandle>& CublasHandles();

/// A handle in use by this call, and the stream it is set to; `status` states why there is none.
class CublasCall {
 public:
  explicit CublasCall(cublasHandle_t handle);
  ~CublasCall();
  CublasCall(const CublasCall&) = delete;
  CublasCall& operator=(const CublasCall&) = delete;

  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  std::shared_ptr<CublasHandle> handle;
  std::shared_ptr<Stream> stream;
};

}  // namespace emulator

/// Opens a call on `handle` in the variable `call`, or returns why it cannot be.
#define CUBLAS_CALL(handle)              \
  EMULATOR_ENTER(::emulator::kCublas);           \
  const ::emulator::CublasCall call(handle); \
  if (call.status != CUBLAS_STATUS_SUCCESS) return call.status
