#include "core/entry.h"

#include "core/device.h"
#include "core/ledger.h"
#include "core/settings.h"

namespace emulator {

std::optional<int> Enter(const char* symbol, const EntryRules& rules) {
  const auto settings = CurrentSettings();
  if (!settings->enabled || settings->devices == 0) return rules.no_device;
  const long call = CountCall(symbol);
  if (const auto status = InjectedStatus(symbol, call)) return status;
  if (Unloading()) return rules.unloading;
  if (const int error = DeviceError(CurrentDevice()); error != 0 && rules.device_error != 0) {
    return rules.device_error == -1 ? error : rules.device_error;
  }
  return std::nullopt;
}

}  // namespace emulator
