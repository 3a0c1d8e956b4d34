#pragma once

#include <string>

namespace emulator {

/// The calling thread's device.
int CurrentDevice();
void SetCurrentDevice(int device);
/// Reports a violation if this thread never chose a device: CUDA would use the context of device 0, or create it.
void CheckDeviceChosen(const char* call);

/// The sticky error of `device`, 0 while it is well. Once set, nothing runs on the device any more.
int DeviceError(int device);
void BreakDevice(int device, int error, const std::string& why);

/// Makes all devices well again, as only a new process could.
void ResetDevices();

bool CanReachPeer(int device, int peer);
/// False when it was enabled before.
bool EnablePeer(int device, int peer);

/// True once the process is on its way out: calls then answer cudaErrorCudartUnloading, as the real runtime's do.
bool Unloading();

}  // namespace emulator
