#include "core/device.h"
#include "core/schedule.h"
#include "cudart/result.h"

using emulator::Result;

namespace {

constexpr unsigned kNonBlocking = 1;

cudaError_t Create(cudaStream_t* stream, unsigned flags) {
  if (stream == nullptr || flags > kNonBlocking) return cudaErrorInvalidValue;
  const bool blocking = (flags & kNonBlocking) == 0;
  *stream = emulator::TheTables().streams.Add(std::make_shared<emulator::Stream>(emulator::CurrentDevice(), blocking));
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  CUDART_ENTER(emulator::kCudart);
  return Result(Create(stream, 0));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  CUDART_ENTER(emulator::kCudart);
  return Result(Create(stream, flags));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  CUDART_ENTER(emulator::kCudart);
  return Result(Create(stream, flags));
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  CUDART_ENTER(emulator::kCudartAlways);
  const auto stream = emulator::TheTables().streams.Remove(handle);
  if (stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  if (emulator::CaptureStatus(stream) != 0) emulator::ReportViolation("a stream was destroyed while it was captured");
  stream->Close();
  return Result(emulator::DeviceError(stream->device));
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  CUDART_ENTER(emulator::kCudart);
  const auto stream = emulator::FindStream(handle);
  return Result(stream == nullptr ? cudaErrorInvalidResourceHandle : emulator::Synchronize(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  CUDART_ENTER(emulator::kCudart);
  const auto stream = emulator::FindStream(handle);
  return Result(stream == nullptr ? cudaErrorInvalidResourceHandle : emulator::Query(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  CUDART_ENTER(emulator::kCudart);
  const auto stream = emulator::FindStream(handle);
  const auto found = emulator::TheTables().events.Find(event);
  if (stream == nullptr || found == nullptr) return Result(cudaErrorInvalidResourceHandle);
  return Result(emulator::WaitFor(stream, *found));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  CUDART_ENTER(emulator::kCudart);
  const auto stream = emulator::FindStream(handle);
  if (stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  if (function == nullptr) return Result(cudaErrorInvalidValue);
  const auto call = [function, data](int) { function(data); };
  return Result(emulator::Enqueue(stream, {.name = __func__, .run = call, .host_function = true}));
}
