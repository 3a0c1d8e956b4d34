#include "core/device.h"
#include "core/schedule.h"
#include "cudart/result.h"

using fake::Result;

namespace {

constexpr unsigned kNonBlocking = 1;

cudaError_t Create(cudaStream_t* stream, unsigned flags) {
  if (stream == nullptr || flags > kNonBlocking) return cudaErrorInvalidValue;
  const bool blocking = (flags & kNonBlocking) == 0;
  *stream = fake::TheTables().streams.Add(std::make_shared<fake::Stream>(fake::CurrentDevice(), blocking));
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  CUDART_ENTER(fake::kCudart);
  return Result(Create(stream, 0));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  CUDART_ENTER(fake::kCudart);
  return Result(Create(stream, flags));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  CUDART_ENTER(fake::kCudart);
  return Result(Create(stream, flags));
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  CUDART_ENTER(fake::kCudartAlways);
  const auto stream = fake::TheTables().streams.Remove(handle);
  if (stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  if (fake::CaptureStatus(stream) != 0) fake::ReportViolation("a stream was destroyed while it was captured");
  stream->Close();
  return Result(fake::DeviceError(stream->device));
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  CUDART_ENTER(fake::kCudart);
  const auto stream = fake::FindStream(handle);
  return Result(stream == nullptr ? cudaErrorInvalidResourceHandle : fake::Synchronize(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  CUDART_ENTER(fake::kCudart);
  const auto stream = fake::FindStream(handle);
  return Result(stream == nullptr ? cudaErrorInvalidResourceHandle : fake::Query(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  CUDART_ENTER(fake::kCudart);
  const auto stream = fake::FindStream(handle);
  const auto found = fake::TheTables().events.Find(event);
  if (stream == nullptr || found == nullptr) return Result(cudaErrorInvalidResourceHandle);
  return Result(fake::WaitFor(stream, *found));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  CUDART_ENTER(fake::kCudart);
  const auto stream = fake::FindStream(handle);
  if (stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  if (function == nullptr) return Result(cudaErrorInvalidValue);
  const auto call = [function, data](int) { function(data); };
  return Result(fake::Enqueue(stream, {.name = __func__, .run = call, .host_function = true}));
}
