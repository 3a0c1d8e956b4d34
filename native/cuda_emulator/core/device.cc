#include "core/device.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "core/ledger.h"

namespace emulator {
namespace {

constexpr int kMaxDevices = 16;

thread_local int current_device = 0;
thread_local bool is_device_chosen = false;
std::array<std::atomic<int>, kMaxDevices> errors{};
std::atomic<bool> unloading{false};

std::mutex peers_mutex;
std::set<std::pair<int, int>>& Peers() {
  static auto* peers = new std::set<std::pair<int, int>>;
  return *peers;
}

[[maybe_unused]] const int at_exit = std::atexit([] { unloading = true; });

}  // namespace

int CurrentDevice() { return current_device; }
void SetCurrentDevice(int device) {
  current_device = device;
  is_device_chosen = true;
}

void CheckDeviceChosen(const char* call) {
  if (!is_device_chosen) {
    ReportViolation(std::string(call) + " on a thread without cudaSetDevice: it uses the context of device 0");
  }
}

int DeviceError(int device) { return errors.at(static_cast<std::size_t>(device)); }

void BreakDevice(int device, int error, const std::string& why) {
  int well = 0;
  errors.at(static_cast<std::size_t>(device)).compare_exchange_strong(well, error);
  ReportViolation(why);
}

void ResetDevices() {
  for (auto& error : errors) error = 0;
}

bool CanReachPeer(int device, int peer) {
  const std::lock_guard lock(peers_mutex);
  return Peers().count({device, peer}) > 0;
}

bool EnablePeer(int device, int peer) {
  const std::lock_guard lock(peers_mutex);
  return Peers().insert({device, peer}).second;
}

bool Unloading() { return unloading; }

}  // namespace emulator
