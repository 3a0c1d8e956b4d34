#include "core/device.h"
#include "core/schedule.h"
#include "core/settings.h"
#include "cudart/result.h"

using emulator::Result;

namespace {

constexpr unsigned kDisableTiming = 2;

cudaError_t Create(cudaEvent_t* event, unsigned flags) {
  if (event == nullptr || flags > 7) return cudaErrorInvalidValue;
  auto made = std::make_shared<emulator::Event>();
  made->timed = (flags & kDisableTiming) == 0;
  *event = emulator::TheTables().events.Add(std::move(made));
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  CUDART_ENTER(emulator::kCudart);
  return Result(Create(event, 0));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  CUDART_ENTER(emulator::kCudart);
  return Result(Create(event, flags));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  CUDART_ENTER(emulator::kCudart);
  const auto stream = emulator::FindStream(handle);
  const auto found = emulator::TheTables().events.Find(event);
  if (stream == nullptr || found == nullptr) return Result(cudaErrorInvalidResourceHandle);
  return Result(emulator::Record(*found, stream));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  CUDART_ENTER(emulator::kCudart);
  const auto found = emulator::TheTables().events.Find(event);
  return Result(found == nullptr ? cudaErrorInvalidResourceHandle : emulator::QueryEvent(*found));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  CUDART_ENTER(emulator::kCudart);
  const auto found = emulator::TheTables().events.Find(event);
  if (found == nullptr) return Result(cudaErrorInvalidResourceHandle);
  const int error = emulator::SynchronizeEvent(*found);
  return Result(error != cudaSuccess ? error : emulator::DeviceError(emulator::CurrentDevice()));
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  CUDART_ENTER(emulator::kCudart);
  const auto from = emulator::TheTables().events.Find(start);
  const auto to = emulator::TheTables().events.Find(end);
  if (from == nullptr || to == nullptr || from->point == nullptr || to->point == nullptr) {
    return Result(cudaErrorInvalidResourceHandle);
  }
  if (!from->timed || !to->timed) return Result(cudaErrorInvalidResourceHandle);
  if (!from->point->Done() || !to->point->Done()) return Result(cudaErrorNotReady);
  const std::chrono::duration<float, std::milli> elapsed = emulator::CurrentSettings()->counted_time
                                                               ? to->point->counted() - from->point->counted()
                                                               : to->point->time() - from->point->time();
  *milliseconds = elapsed.count();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  CUDART_ENTER(emulator::kCudartAlways);
  emulator::CheckDeviceChosen(__func__);
  return Result(emulator::TheTables().events.Remove(event) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess);
}
