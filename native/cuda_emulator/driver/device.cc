#include "core/device.h"

#include <cstdio>
#include <cstring>

#include "core/settings.h"
#include "driver/result.h"

using namespace emulator;

namespace {

bool IsDevice(CUdevice device) { return device >= 0 && device < CurrentSettings()->devices; }

// Contexts stand for devices, from 1 so that none is null.
CUcontext ContextOf(int device) { return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(0x5d00 + device)); }

}  // namespace

CUresult cuInit(unsigned flags) {
  EMULATOR_ENTER(kDriverAlways);
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDriverGetVersion(int* version) {
  *version = static_cast<int>(SpoofedVersion("driver", 13000));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  EMULATOR_ENTER(kDriverAlways);
  if (!IsDevice(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  EMULATOR_ENTER(kDriverAlways);
  *count = CurrentSettings()->devices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  EMULATOR_ENTER(kDriverAlways);
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<std::size_t>(length), "Emulated GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  EMULATOR_ENTER(kDriverAlways);
  enum { kMaxThreadsPerBlock = 1, kMultiProcessorCount = 16, kMajor = 75, kMinor = 76, kSharedOptin = 97 };
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
    case kMaxThreadsPerBlock: *value = 1024; return CUDA_SUCCESS;
    case kMultiProcessorCount: *value = CurrentSettings()->multiprocessors; return CUDA_SUCCESS;
    case kMajor: *value = CurrentSettings()->capability / 100; return CUDA_SUCCESS;
    case kMinor: *value = CurrentSettings()->capability / 10 % 10; return CUDA_SUCCESS;
    case kSharedOptin: *value = 227 << 10; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  EMULATOR_ENTER(kDriverAlways);
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = CurrentSettings()->memory;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  EMULATOR_ENTER(kDriverAlways);
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::memset(uuid, 0xfa, sizeof *uuid);
  uuid->bytes[15] = static_cast<char>(device);
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** text) {
  switch (error) {
    case CUDA_SUCCESS: *text = "CUDA_SUCCESS"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_VALUE: *text = "CUDA_ERROR_INVALID_VALUE"; return CUDA_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY: *text = "CUDA_ERROR_OUT_OF_MEMORY"; return CUDA_SUCCESS;
    case CUDA_ERROR_NO_DEVICE: *text = "CUDA_ERROR_NO_DEVICE"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_IMAGE: *text = "CUDA_ERROR_INVALID_IMAGE"; return CUDA_SUCCESS;
    case CUDA_ERROR_NO_BINARY_FOR_GPU: *text = "CUDA_ERROR_NO_BINARY_FOR_GPU"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_HANDLE: *text = "CUDA_ERROR_INVALID_HANDLE"; return CUDA_SUCCESS;
    case CUDA_ERROR_NOT_FOUND: *text = "CUDA_ERROR_NOT_FOUND"; return CUDA_SUCCESS;
    case 700: *text = "CUDA_ERROR_ILLEGAL_ADDRESS"; return CUDA_SUCCESS;
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: *text = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"; return CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_CLUSTER_SIZE: *text = "CUDA_ERROR_INVALID_CLUSTER_SIZE"; return CUDA_SUCCESS;
    case 719: *text = "CUDA_ERROR_LAUNCH_FAILED"; return CUDA_SUCCESS;
    default: *text = nullptr; return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuGetErrorString(CUresult error, const char** text) { return cuGetErrorName(error, text); }

CUresult cuCtxGetCurrent(CUcontext* context) {
  EMULATOR_ENTER(kDriverAlways);
  *context = ContextOf(CurrentDevice());
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  EMULATOR_ENTER(kDriverAlways);
  for (int device = 0; device < CurrentSettings()->devices; ++device) {
    if (context != ContextOf(device)) continue;
    SetCurrentDevice(device);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  EMULATOR_ENTER(kDriverAlways);
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = ContextOf(device);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  EMULATOR_ENTER(kDriverAlways);
  return IsDevice(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
