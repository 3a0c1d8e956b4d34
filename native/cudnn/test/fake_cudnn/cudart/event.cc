#include "core/device.h"
#include "core/schedule.h"
#include "cudart/result.h"

using fake::Result;

namespace {

constexpr unsigned kDisableTiming = 2;

cudaError_t Create(cudaEvent_t* event, unsigned flags) {
  if (event == nullptr || flags > 7) return cudaErrorInvalidValue;
  auto made = std::make_shared<fake::Event>();
  made->timed = (flags & kDisableTiming) == 0;
  *event = fake::TheTables().events.Add(std::move(made));
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  CUDART_ENTER(fake::kCudart);
  return Result(Create(event, 0));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  CUDART_ENTER(fake::kCudart);
  return Result(Create(event, flags));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  CUDART_ENTER(fake::kCudart);
  const auto stream = fake::FindStream(handle);
  const auto found = fake::TheTables().events.Find(event);
  if (stream == nullptr || found == nullptr) return Result(cudaErrorInvalidResourceHandle);
  return Result(fake::Record(*found, stream));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  CUDART_ENTER(fake::kCudart);
  const auto found = fake::TheTables().events.Find(event);
  return Result(found == nullptr ? cudaErrorInvalidResourceHandle : fake::QueryEvent(*found));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  CUDART_ENTER(fake::kCudart);
  const auto found = fake::TheTables().events.Find(event);
  if (found == nullptr) return Result(cudaErrorInvalidResourceHandle);
  const int error = fake::SynchronizeEvent(*found);
  return Result(error != cudaSuccess ? error : fake::DeviceError(fake::CurrentDevice()));
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  CUDART_ENTER(fake::kCudart);
  const auto from = fake::TheTables().events.Find(start);
  const auto to = fake::TheTables().events.Find(end);
  if (from == nullptr || to == nullptr || from->point == nullptr || to->point == nullptr) {
    return Result(cudaErrorInvalidResourceHandle);
  }
  if (!from->timed || !to->timed) return Result(cudaErrorInvalidResourceHandle);
  if (!from->point->Done() || !to->point->Done()) return Result(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(to->point->time() - from->point->time()).count();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  CUDART_ENTER(fake::kCudartAlways);
  return Result(fake::TheTables().events.Remove(event) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess);
}
