#include "core/memory.h"

#include <algorithm>
#include <mutex>

#include "core/device.h"
#include "core/ledger.h"
#include "core/schedule.h"
#include "core/settings.h"
#include "cudart/result.h"

using emulator::Result;

namespace {

// Memory whose stream-ordered release is still queued counts as used: wait for it before saying that there is none.
void* AllocateWaiting(std::size_t bytes) {
  const int device = emulator::CurrentDevice();
  void* pointer = emulator::AllocateDevice(device, bytes);
  if (pointer != nullptr) return pointer;
  emulator::SynchronizeDevice(device);
  return emulator::AllocateDevice(device, bytes);
}

cudaMemPool_t PoolOf(int device) {
  return reinterpret_cast<cudaMemPool_t>(0x5e00'0000'0000'0000u + static_cast<unsigned>(device));
}

// Bytes that the pools keep after frees: other processes do not get them until a trim. Each device's default pool alone.
struct Pool {
  std::uint64_t threshold = 0;  ///< as set: 0 keeps nothing beyond the next synchronization
  std::size_t kept = 0;
};

std::mutex pools_mutex;
Pool pools[16];

void Keep(int device, std::size_t bytes) {
  const std::lock_guard lock(pools_mutex);
  Pool& pool = pools[device];
  if (pool.threshold == 0) return;
  pool.kept += bytes;
  emulator::CountLive("pool bytes", static_cast<long>(bytes));
}

void KeepAtMost(int device, std::size_t bytes) {
  const std::lock_guard lock(pools_mutex);
  Pool& pool = pools[device];
  if (pool.kept <= bytes) return;
  emulator::CountLive("pool bytes", static_cast<long>(bytes) - static_cast<long>(pool.kept));
  pool.kept = bytes;
}

void TakeKept(int device, std::size_t bytes) {
  std::size_t left = 0;
  {
    const std::lock_guard lock(pools_mutex);
    left = pools[device].kept - std::min(pools[device].kept, bytes);
  }
  KeepAtMost(device, left);
}

int DeviceOf(cudaMemPool_t pool) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(pool) & 0xf); }

bool IsPool(cudaMemPool_t pool) {
  for (int device = 0; device < emulator::CurrentSettings()->devices; ++device) {
    if (pool == PoolOf(device)) return true;
  }
  return false;
}

cudaError_t AllocateInStream(const char* name, void** pointer, std::size_t bytes, cudaStream_t handle) {
  const auto stream = emulator::FindStream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
  // Real graphs can hold allocations; the emulator requests buffers that outlive the capture, as ours do.
  if (emulator::CaptureStatus(stream) != 0) return cudaErrorStreamCaptureUnsupported;
  *pointer = AllocateWaiting(bytes);
  if (*pointer == nullptr) return cudaErrorMemoryAllocation;
  TakeKept(stream->device, bytes);
  // Until other streams are ordered after this one, the memory is its own.
  return emulator::Enqueue(stream, {.name = name, .accesses = {{*pointer, 0, true}}, .run = [](int) {}});
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  CUDART_ENTER(emulator::kCudart);
  if (pointer == nullptr) return Result(cudaErrorInvalidValue);
  if (const int error = emulator::CheckUncaptured(__func__); error != cudaSuccess) return Result(error);
  *pointer = bytes == 0 ? nullptr : AllocateWaiting(bytes);
  return Result(bytes > 0 && *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaFree(void* pointer) {
  if (pointer != nullptr && emulator::FindDeviceExtent(pointer).bytes > 0 &&
      emulator::DeviceError(emulator::CurrentDevice()) != 0) {
    emulator::FreeDevice(pointer);  // a broken device refuses, but the process frees only once
  }
  CUDART_ENTER(emulator::kCudart);
  if (pointer == nullptr) return cudaSuccess;
  if (const int error = emulator::CheckUncaptured(__func__); error != cudaSuccess) return Result(error);
  if (const int error = emulator::SynchronizeDevice(emulator::CurrentDevice()); error != cudaSuccess) {
    emulator::FreeDevice(pointer);
    return Result(error);
  }
  if (emulator::FreeDevice(pointer)) return cudaSuccess;
  emulator::ReportViolation("cudaFree of a pointer that is not a live device allocation");
  return Result(cudaErrorInvalidValue);
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  CUDART_ENTER(emulator::kCudart);
  return Result(AllocateInStream(__func__, pointer, bytes, stream));
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  CUDART_ENTER(emulator::kCudart);
  if (!IsPool(pool)) return Result(cudaErrorInvalidValue);
  return Result(AllocateInStream(__func__, pointer, bytes, stream));
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  CUDART_ENTER(emulator::kCudartAlways);
  const auto stream = emulator::FindStream(handle);
  if (stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  if (pointer == nullptr) return cudaSuccess;
  if (emulator::FindDeviceExtent(pointer).begin != reinterpret_cast<std::uintptr_t>(pointer)) {
    emulator::ReportViolation("cudaFreeAsync of a pointer that is not a live device allocation");
    return Result(cudaErrorInvalidValue);
  }
  if (emulator::CaptureStatus(stream) != 0) return Result(cudaErrorStreamCaptureUnsupported);
  const auto free = [pointer](int device) {
    const std::size_t bytes = emulator::FindDeviceExtent(pointer).bytes;
    if (!emulator::FreeDevice(pointer)) return emulator::ReportViolation("device memory freed twice");
    Keep(device, bytes);
  };
  const int error =
      emulator::Enqueue(stream, {.name = __func__, .accesses = {{pointer, 0, true}}, .run = free, .always = true});
  return Result(error != cudaSuccess ? error : emulator::DeviceError(stream->device));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  CUDART_ENTER(emulator::kCudart);
  *pool = PoolOf(device);
  return Result(IsPool(*pool) ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  CUDART_ENTER(emulator::kCudart);
  *pool = PoolOf(device);
  return Result(IsPool(*pool) ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, int attribute, void* value) {
  CUDART_ENTER(emulator::kCudart);
  constexpr int kReleaseThreshold = 4;
  const bool known = IsPool(pool) && attribute >= 1 && attribute <= 8 && value != nullptr;
  if (known && attribute == kReleaseThreshold) {
    const std::lock_guard lock(pools_mutex);
    pools[DeviceOf(pool)].threshold = *static_cast<std::uint64_t*>(value);
  }
  return Result(known ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void* value) {
  CUDART_ENTER(emulator::kCudart);
  constexpr int kFirstByteCount = 4;  // below it the values are ints: switches for reuse
  if (!IsPool(pool) || attribute < 1 || attribute > 8 || value == nullptr) return Result(cudaErrorInvalidValue);
  if (attribute < kFirstByteCount) {
    *static_cast<int*>(value) = 1;
  } else {
    *static_cast<std::uint64_t*>(value) =
        attribute == kFirstByteCount ? 0 : emulator::DeviceBytesUsed(emulator::CurrentDevice());
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  CUDART_ENTER(emulator::kCudartAlways);
  if (IsPool(pool)) KeepAtMost(DeviceOf(pool), keep);
  return Result(IsPool(pool) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  CUDART_ENTER(emulator::kCudart);
  if (const int error = emulator::CheckUncaptured(__func__); error != cudaSuccess) return Result(error);
  *pointer = emulator::AllocatePinned(bytes);
  return Result(*pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  CUDART_ENTER(emulator::kCudart);
  if (flags > 7) return Result(cudaErrorInvalidValue);
  if (const int error = emulator::CheckUncaptured(__func__); error != cudaSuccess) return Result(error);
  *pointer = emulator::AllocatePinned(bytes);
  return Result(*pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaFreeHost(void* pointer) {
  CUDART_ENTER(emulator::kCudartAlways);
  emulator::CheckDeviceChosen(__func__);
  if (pointer == nullptr) return cudaSuccess;
  if (emulator::DeviceError(emulator::CurrentDevice()) == 0) emulator::SynchronizeDevice(emulator::CurrentDevice());
  if (!emulator::FreePinned(pointer)) {
    emulator::ReportViolation("cudaFreeHost of a pointer that is not live page-locked memory");
    return Result(cudaErrorInvalidValue);
  }
  return Result(emulator::DeviceError(emulator::CurrentDevice()));
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  CUDART_ENTER(emulator::kCudart);
  if (pointer == nullptr || bytes == 0) return Result(cudaErrorInvalidValue);
  return Result(emulator::RegisterPinned(pointer, bytes) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* pointer) {
  CUDART_ENTER(emulator::kCudartAlways);
  emulator::SynchronizeDevice(emulator::CurrentDevice());
  return Result(emulator::UnregisterPinned(pointer) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  CUDART_ENTER(emulator::kCudart);
  enum { kUnregistered, kHost, kDevice };
  *attributes = {};
  const emulator::Extent extent = emulator::FindDeviceExtent(pointer);
  if (extent.bytes > 0) {
    attributes->type = kDevice;
    attributes->device = extent.device;
    attributes->devicePointer = const_cast<void*>(pointer);
  } else if (emulator::IsPinned(pointer, 1)) {
    attributes->type = kHost;
    attributes->devicePointer = const_cast<void*>(pointer);
    attributes->hostPointer = const_cast<void*>(pointer);
  } else {
    attributes->type = kUnregistered;
    attributes->device = -2;  // cudaInvalidDeviceId
    attributes->hostPointer = const_cast<void*>(pointer);
  }
  return cudaSuccess;
}
