#include "core/device.h"

#include <cstdio>

#include "core/memory.h"
#include "core/schedule.h"
#include "core/settings.h"
#include "cudart/result.h"

#ifndef EMULATOR_CUDA_MAJOR
#error "EMULATOR_CUDA_MAJOR names the CUDA version that a library is made for"
#endif

using emulator::CurrentSettings;
using emulator::Result;

namespace {

bool IsDevice(int device) { return device >= 0 && device < CurrentSettings()->devices; }

// cudaDeviceAttr
enum {
  kMaxThreadsPerBlock = 1,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kClockRate = 13,
  kMultiProcessorCount = 16,
  kL2CacheSize = 38,
  kMaxThreadsPerMultiProcessor = 39,
  kUnifiedAddressing = 41,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kCooperativeLaunch = 95,
  kMaxSharedMemoryPerBlockOptin = 97,
  kMemoryPoolsSupported = 115,
};

}  // namespace

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = static_cast<int>(emulator::SpoofedVersion("runtime", EMULATOR_CUDA_MAJOR * 1000));
  return cudaSuccess;
}

// Without a driver the real runtime answers this one call with version 0.
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CurrentSettings()->enabled ? static_cast<int>(emulator::SpoofedVersion("driver", 13000)) : 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  const bool driver_without_device = CurrentSettings()->enabled && CurrentSettings()->devices == 0;
  if (driver_without_device) return Result(cudaErrorNoDevice);
  CUDART_ENTER(emulator::kCudartAlways);
  *count = CurrentSettings()->devices;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  CUDART_ENTER(emulator::kCudartAlways);
  if (!IsDevice(device)) return Result(cudaErrorInvalidDevice);
  emulator::SetCurrentDevice(device);
  return Result(emulator::DeviceError(device));
}

cudaError_t cudaGetDevice(int* device) {
  CUDART_ENTER(emulator::kCudartAlways);
  *device = emulator::CurrentDevice();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int device) {
  CUDART_ENTER(emulator::kCudartAlways);
  if (!IsDevice(device)) return Result(cudaErrorInvalidDevice);
  const auto settings = CurrentSettings();
  switch (attribute) {
    case kMaxThreadsPerBlock: *value = 1024; return cudaSuccess;
    case kMaxSharedMemoryPerBlock: *value = 48 << 10; return cudaSuccess;
    case kWarpSize: *value = 32; return cudaSuccess;
    case kClockRate: *value = 1'980'000; return cudaSuccess;
    case kMultiProcessorCount: *value = settings->multiprocessors; return cudaSuccess;
    case kL2CacheSize: *value = 60 << 20; return cudaSuccess;
    case kMaxThreadsPerMultiProcessor: *value = 2048; return cudaSuccess;
    case kUnifiedAddressing: *value = 1; return cudaSuccess;
    case kComputeCapabilityMajor: *value = settings->capability / 100; return cudaSuccess;
    case kComputeCapabilityMinor: *value = settings->capability / 10 % 10; return cudaSuccess;
    case kCooperativeLaunch: *value = 0; return cudaSuccess;
    case kMaxSharedMemoryPerBlockOptin: *value = 227 << 10; return cudaSuccess;
    case kMemoryPoolsSupported: *value = 1; return cudaSuccess;
    default: return Result(cudaErrorInvalidValue);
  }
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  CUDART_ENTER(emulator::kCudartAlways);
  if (!IsDevice(device)) return Result(cudaErrorInvalidDevice);
  if (id == nullptr || length < 13) return Result(cudaErrorInvalidValue);
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  CUDART_ENTER(emulator::kCudart);
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  CUDART_ENTER(emulator::kCudart);
  if (!IsDevice(device) || !IsDevice(peer)) return Result(cudaErrorInvalidDevice);
  *can = device != peer ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  CUDART_ENTER(emulator::kCudart);
  if (!IsDevice(peer) || peer == emulator::CurrentDevice()) return Result(cudaErrorInvalidDevice);
  if (flags != 0) return Result(cudaErrorInvalidValue);
  const bool enabled = emulator::EnablePeer(emulator::CurrentDevice(), peer);
  return Result(enabled ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaDeviceSynchronize() {
  CUDART_ENTER(emulator::kCudart);
  if (const int error = emulator::CheckUncaptured(__func__); error != cudaSuccess) return Result(error);
  return Result(emulator::SynchronizeDevice(emulator::CurrentDevice()));
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  CUDART_ENTER(emulator::kCudart);
  *total = CurrentSettings()->memory;
  const std::size_t used = emulator::DeviceBytesUsed(emulator::CurrentDevice());
  *free = used < *total ? *total - used : 0;
  return cudaSuccess;
}
