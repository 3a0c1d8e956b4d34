#include <map>

#include "core/device.h"
#include "cudart/result.h"

namespace {

thread_local cudaError_t last_error = cudaSuccess;

struct ErrorText {
  const char* name;
  const char* text;
};

ErrorText TextOf(cudaError_t error) {
  static const std::map<cudaError_t, ErrorText> texts = {
      {cudaSuccess, {"cudaSuccess", "no error"}},
      {cudaErrorInvalidValue, {"cudaErrorInvalidValue", "invalid argument"}},
      {cudaErrorMemoryAllocation, {"cudaErrorMemoryAllocation", "out of memory"}},
      {cudaErrorCudartUnloading, {"cudaErrorCudartUnloading", "driver shutting down"}},
      {cudaErrorInvalidMemcpyDirection, {"cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"}},
      {cudaErrorInsufficientDriver,
       {"cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"}},
      {cudaErrorNoDevice, {"cudaErrorNoDevice", "no CUDA-capable device is detected"}},
      {cudaErrorInvalidDevice, {"cudaErrorInvalidDevice", "invalid device ordinal"}},
      {cudaErrorInvalidResourceHandle, {"cudaErrorInvalidResourceHandle", "invalid resource handle"}},
      {cudaErrorNotReady, {"cudaErrorNotReady", "device not ready"}},
      {cudaErrorIllegalAddress, {"cudaErrorIllegalAddress", "an illegal memory access was encountered"}},
      {cudaErrorLaunchFailure, {"cudaErrorLaunchFailure", "unspecified launch failure"}},
      {cudaErrorNotSupported, {"cudaErrorNotSupported", "operation not supported"}},
      {cudaErrorStreamCaptureUnsupported,
       {"cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"}},
      {cudaErrorStreamCaptureInvalidated,
       {"cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"}},
      {cudaErrorStreamCaptureUnjoined, {"cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"}},
      {cudaErrorStreamCaptureImplicit,
       {"cudaErrorStreamCaptureImplicit",
        "operation would make the legacy stream depend on a capturing blocking stream"}},
  };
  const auto found = texts.find(error);
  return found == texts.end() ? ErrorText{"cudaErrorUnknown", "unknown error"} : found->second;
}

}  // namespace

cudaError_t emulator::Result(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t cudaGetLastError() {
  if (const cudaError_t sticky = emulator::DeviceError(emulator::CurrentDevice()); sticky != cudaSuccess) return sticky;
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  const cudaError_t sticky = emulator::DeviceError(emulator::CurrentDevice());
  return sticky != cudaSuccess ? sticky : last_error;
}

const char* cudaGetErrorName(cudaError_t error) { return TextOf(error).name; }

const char* cudaGetErrorString(cudaError_t error) { return TextOf(error).text; }
