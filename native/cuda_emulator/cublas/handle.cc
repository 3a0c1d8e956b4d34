#include "cublas/handle.h"

#include "core/device.h"

using namespace emulator;

LiveObjects<cublasHandle_t, CublasHandle>& emulator::CublasHandles() {
  static auto* handles = new LiveObjects<cublasHandle_t, CublasHandle>("cublas handles");  // never destroyed
  return *handles;
}

CublasCall::CublasCall(cublasHandle_t given) : handle(CublasHandles().Find(given)) {
  if (handle == nullptr) {
    status = CUBLAS_STATUS_NOT_INITIALIZED;
    if (given != nullptr) ReportViolation("a cuBLAS handle was destroyed or never created");
    return;
  }
  if (handle->busy.exchange(true)) ReportViolation("one cuBLAS handle was used by two threads at once");
  stream = FindStream(handle->stream);
  const bool one_device = stream != nullptr && stream->device == handle->device && handle->device == CurrentDevice();
  if (one_device) return;
  ReportViolation("a cuBLAS handle, its stream and the calling thread are on different devices");
  status = CUBLAS_STATUS_EXECUTION_FAILED;
}

CublasCall::~CublasCall() {
  if (handle != nullptr) handle->busy = false;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  EMULATOR_ENTER(kCublas);
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (CheckUncaptured(__func__) != 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  auto made = std::make_shared<CublasHandle>();
  made->device = CurrentDevice();
  *handle = CublasHandles().Add(std::move(made));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  EMULATOR_ENTER(kCublasAlways);
  SynchronizeDevice(CurrentDevice());
  return CublasHandles().Remove(handle) == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = EMULATOR_CUDA_MAJOR * 10000;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cublasStream_t stream) {
  EMULATOR_ENTER(kCublas);
  const auto found = CublasHandles().Find(handle);
  if (found == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (FindStream(stream) == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  found->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cublasStream_t* stream) {
  CUBLAS_CALL(handle);
  *stream = call.handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

// The emulator needs no workspace, but a real one is device memory, aligned to 256 bytes.
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  CUBLAS_CALL(handle);
  const bool aligned = reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0;
  const bool there = bytes == 0 || FindDeviceExtent(workspace).bytes > 0;
  return aligned && there ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, int mode) {
  CUBLAS_CALL(handle);
  call.handle->math_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, int* mode) {
  CUBLAS_CALL(handle);
  *mode = call.handle->math_mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, int mode) {
  CUBLAS_CALL(handle);
  if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE) return CUBLAS_STATUS_INVALID_VALUE;
  call.handle->pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, int* mode) {
  CUBLAS_CALL(handle);
  *mode = call.handle->pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "CUBLAS_STATUS_UNKNOWN";
  }
}

const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }
