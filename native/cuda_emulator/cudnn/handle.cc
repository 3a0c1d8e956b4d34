#include <cstdio>

#include "core/cudnn_objects.h"
#include "core/device.h"
#include "core/settings.h"
#include "cudnn/status.h"
#include "cudnn/version.h"

using namespace emulator;

size_t cudnnGetVersion() { return CudnnVersion(); }

size_t cudnnGetCudartVersion() { return static_cast<size_t>(SpoofedVersion("cudnn_cudart", 13000)); }

cudnnStatus_t cudnnGetProperty(int type, int* value) {
  const int major_unit = EMULATOR_CUDNN_MAJOR >= 9 ? 10000 : 1000;
  const int version = static_cast<int>(CudnnVersion());
  switch (type) {
    case 0: *value = version / major_unit; return kSuccess;
    case 1: *value = version % major_unit / 100; return kSuccess;
    case 2: *value = version % 100; return kSuccess;
    default: return kBadParam;
  }
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case kSuccess: return "CUDNN_STATUS_SUCCESS";
    case kNotInitialized: return "CUDNN_STATUS_NOT_INITIALIZED";
    case kAllocFailed:
      return EMULATOR_CUDNN_MAJOR >= 9 ? "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"
                                   : "CUDNN_STATUS_ALLOC_FAILED";
    case kBadParam: return "CUDNN_STATUS_BAD_PARAM";
    case kNotSupported: return "CUDNN_STATUS_NOT_SUPPORTED";
    case kArchMismatch:
      return EMULATOR_CUDNN_MAJOR >= 9 ? "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH" : "CUDNN_STATUS_ARCH_MISMATCH";
    case kExecutionFailed: return "CUDNN_STATUS_EXECUTION_FAILED";
    case kVersionMismatch:
      return EMULATOR_CUDNN_MAJOR >= 9 ? "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH" : "CUDNN_STATUS_VERSION_MISMATCH";
#if EMULATOR_CUDNN_MAJOR >= 9
    case kExecutionFailedCudart: return "CUDNN_STATUS_EXECUTION_FAILED_CUDART";
    case kSublibraryMissing: return "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE";
#endif
    default: return "CUDNN_STATUS_UNKNOWN";
  }
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  // Without a GPU the real library states in its last message which CUDA call failed.
  if (!CurrentSettings()->enabled) SetLastMessage("cudaGetDeviceCount(&count) != cudaSuccess");
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    Require(handle != nullptr, "!handle");
    const int error = CheckUncaptured(__func__);
    Require(error == 0, "cudnnCreate during a stream capture", kExecutionFailedCudart);
    auto made = std::make_shared<CudnnHandle>();
    made->device = CurrentDevice();
    *handle = TheCudnnTables().handles.Add(std::move(made));
  });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  EMULATOR_ENTER(kCudnnHost);
  if (handle == nullptr) return kSuccess;
  SynchronizeDevice(CurrentDevice());
  return TheCudnnTables().handles.Remove(handle) == nullptr ? kBadParam : kSuccess;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudnnStream_t stream) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] {
    const HandleInUse used(handle);
    const auto found = FindStream(stream);
    Require(found != nullptr, "stream is not live");
    Require(found->device == used->device, "stream is on another device than the handle");
    used->stream = stream;
  });
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudnnStream_t* stream) {
  EMULATOR_ENTER(kCudnnHost);
  return Guarded([&] { *stream = HandleInUse(handle)->stream; });
}

// The callback is never called: the emulator's log is its report.
cudnnStatus_t cudnnSetCallback(unsigned, void*, cudnnCallback_t) {
  EMULATOR_ENTER(kCudnnHost);
  return kSuccess;
}

#if EMULATOR_CUDNN_MAJOR >= 9
void cudnnGetLastErrorString(char* message, size_t room) {
  const std::string text = TakeLastMessage();
  if (message != nullptr && room > 0) std::snprintf(message, room, "%s", text.c_str());
}

size_t cudnnGetMaxDeviceVersion() { return 1210; }

cudnnStatus_t cudnnGraphVersionCheck() {
  EMULATOR_ENTER(kCudnnHost);
  return SublibraryVersion("cudnn_graph") == CudnnVersion() ? kSuccess : kVersionMismatch;
}
#endif
