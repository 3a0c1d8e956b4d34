#include <cstring>
#include <memory>
#include <vector>

#include "core/device.h"
#include "core/memory.h"
#include "core/schedule.h"
#include "cudart/result.h"

using emulator::Result;

namespace {

// A rectangle of `height` rows of `width` bytes; plain copies have one row.
struct Copy {
  void* to;
  std::size_t to_pitch;
  const void* from;
  std::size_t from_pitch;
  std::size_t width;
  std::size_t height;

  std::size_t ToBytes() const { return to_pitch * (height - 1) + width; }
  std::size_t FromBytes() const { return from_pitch * (height - 1) + width; }
};

void CopyRows(const Copy& copy, void* to, const void* from) {
  for (std::size_t row = 0; row < copy.height; ++row) {
    std::memcpy(static_cast<char*>(to) + row * copy.to_pitch, static_cast<const char*>(from) + row * copy.from_pitch,
                copy.width);
  }
}

bool Agrees(int kind, bool from_device, bool to_device) {
  switch (kind) {
    case cudaMemcpyHostToHost: return !from_device && !to_device;
    case cudaMemcpyHostToDevice: return !from_device && to_device;
    case cudaMemcpyDeviceToHost: return from_device && !to_device;
    case cudaMemcpyDeviceToDevice: return from_device && to_device;
    case cudaMemcpyDefault: return true;
    default: return false;
  }
}

// Page-locked memory is read and written when the copy is next in its stream. Ordinary memory is staged, as in CUDA: a copy from
// it has read it when the call returns, a copy to it has finished by then.
cudaError_t EnqueueCopy(const char* name, const Copy& copy, int kind, cudaStream_t handle) {
  const auto stream = emulator::FindStream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (copy.width == 0 || copy.height == 0) return cudaSuccess;
  if (copy.to == nullptr || copy.from == nullptr) return cudaErrorInvalidValue;
  const bool from_device = emulator::IsDeviceAddress(copy.from);
  const bool to_device = emulator::IsDeviceAddress(copy.to);
  if (!Agrees(kind, from_device, to_device)) return cudaErrorInvalidMemcpyDirection;
  const auto inside = [](const void* pointer, std::size_t bytes) {
    const emulator::Extent extent = emulator::FindDeviceExtent(pointer);
    return reinterpret_cast<std::uintptr_t>(pointer) + bytes <= extent.begin + extent.bytes;
  };
  if ((from_device && !inside(copy.from, copy.FromBytes())) || (to_device && !inside(copy.to, copy.ToBytes()))) {
    emulator::ReportViolation(std::string(name) + ": device range not inside one live allocation");
    return cudaErrorInvalidValue;
  }

  const bool from_pageable = !from_device && !emulator::IsPinned(copy.from, copy.FromBytes());
  const bool to_pageable = !to_device && !emulator::IsPinned(copy.to, copy.ToBytes());
  if ((from_pageable || to_pageable) && emulator::CaptureStatus(stream) != 0) return cudaErrorStreamCaptureUnsupported;
  std::shared_ptr<std::vector<char>> staged;
  if (from_pageable) {
    const char* bytes = static_cast<const char*>(copy.from);
    staged = std::make_shared<std::vector<char>>(bytes, bytes + copy.FromBytes());
  }
  emulator::Operation operation{.name = name};
  operation.accesses = {{copy.from, copy.FromBytes(), false}, {copy.to, copy.ToBytes(), true}};
  if (!from_device && !from_pageable) {
    operation.source = copy.from;
    operation.source_bytes = copy.FromBytes();
  }
  const char* direction = from_device ? to_device ? "device to device" : "device to host"
                          : to_device ? "host to device"
                                      : "host to host";
  operation.run = [copy, staged, to_pageable, direction](int device) {
    const void* from = staged ? staged->data() : emulator::Resolve(device, copy.from, copy.FromBytes(), "source");
    void* to = to_pageable ? copy.to : emulator::Resolve(device, copy.to, copy.ToBytes(), "destination");
    CopyRows(copy, to, from);
    emulator::CountCopied(direction, static_cast<long>(copy.width * copy.height));
  };
  const int error = emulator::Enqueue(stream, std::move(operation));
  if (error != cudaSuccess) return error;
  return to_pageable ? emulator::Synchronize(stream) : cudaSuccess;
}

Copy Row(void* to, const void* from, std::size_t bytes) { return {to, bytes, from, bytes, bytes, 1}; }

cudaError_t EnqueueFill(const char* name, void* pointer, int value, std::size_t bytes, cudaStream_t handle) {
  const auto stream = emulator::FindStream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (bytes == 0) return cudaSuccess;
  if (pointer == nullptr) return cudaErrorInvalidValue;
  return emulator::Enqueue(stream, {.name = name, .accesses = {{pointer, bytes, true}}, .run = [=](int device) {
                                  std::memset(emulator::Resolve(device, pointer, bytes, "destination"), value, bytes);
                                }});
}

}  // namespace

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, cudaStream_t stream) {
  CUDART_ENTER(emulator::kCudart);
  return Result(EnqueueCopy(__func__, Row(to, from, bytes), kind, stream));
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
  CUDART_ENTER(emulator::kCudart);
  if (const int error = emulator::CheckUncaptured(__func__); error != cudaSuccess) return Result(error);
  const int error = EnqueueCopy(__func__, Row(to, from, bytes), kind, nullptr);
  return Result(error != cudaSuccess ? error : emulator::Synchronize(emulator::FindStream(nullptr)));
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t toPitch, const void* from, size_t fromPitch, size_t width, size_t height,
                              int kind, cudaStream_t stream) {
  CUDART_ENTER(emulator::kCudart);
  if (width > toPitch || width > fromPitch) return Result(cudaErrorInvalidValue);
  return Result(EnqueueCopy(__func__, {to, toPitch, from, fromPitch, width, height}, kind, stream));
}

cudaError_t cudaMemcpyPeerAsync(void* to, int toDevice, const void* from, int fromDevice, size_t bytes,
                                cudaStream_t handle) {
  CUDART_ENTER(emulator::kCudart);
  const auto stream = emulator::FindStream(handle);
  if (stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  // The copy engine reaches both devices with or without peer access.
  return Result(
      emulator::Enqueue(stream, {.name = __func__, .accesses = {{from, bytes, false}, {to, bytes, true}}, .run = [=](int) {
                               std::memcpy(emulator::Resolve(toDevice, to, bytes, "destination"),
                                           emulator::Resolve(fromDevice, from, bytes, "source"), bytes);
                             }}));
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  CUDART_ENTER(emulator::kCudart);
  return Result(EnqueueFill(__func__, pointer, value, bytes, stream));
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  CUDART_ENTER(emulator::kCudart);
  if (const int error = emulator::CheckUncaptured(__func__); error != cudaSuccess) return Result(error);
  return Result(EnqueueFill(__func__, pointer, value, bytes, nullptr));
}
