#include "core/settings.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <sstream>

#include "core/device.h"
#include "core/ledger.h"

namespace emulator {
namespace {

Settings FromEnvironment();

std::mutex mutex;

// Never destroyed: worker threads outlive static destructors when a process ends in mid-flight.
std::shared_ptr<const Settings>& Current() {
  static auto* settings = new std::shared_ptr<const Settings>(std::make_shared<Settings>(FromEnvironment()));
  return *settings;
}

std::atomic<long>& StickyTurns() {
  static std::atomic<long> turns{0};
  return turns;
}

std::string Trimmed(const std::string& text) {
  const auto visible = [](unsigned char c) { return std::isspace(c) == 0; };
  const auto begin = std::find_if(text.begin(), text.end(), visible);
  const auto end = std::find_if(text.rbegin(), text.rend(), visible).base();
  return begin < end ? std::string(begin, end) : std::string();
}

std::size_t Bytes(const std::string& text) {
  char* unit = nullptr;
  const double number = std::strtod(text.c_str(), &unit);
  const int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
  return static_cast<std::size_t>(number * static_cast<double>(1ull << shift));
}

int Capability(const std::string& text) {
  const std::size_t dot = text.find('.');
  const int minor = dot == std::string::npos ? 0 : std::atoi(text.c_str() + dot + 1);
  return std::atoi(text.c_str()) * 100 + minor * 10;
}

Fault ParsedFault(const std::string& text) {
  Fault fault{std::atoi(text.c_str()), 1, true};
  if (const std::size_t at = text.find('@'); at != std::string::npos) {
    fault.from = std::atol(text.c_str() + at + 1);
    fault.onwards = text.back() == '+';
  }
  return fault;
}

bool StartsWith(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

bool Apply(Settings& settings, const std::string& name, const std::string& value) {
  const long number = std::atol(value.c_str());
  if (name == "devices") {
    settings.devices = static_cast<int>(number);
  } else if (name == "capability") {
    settings.capability = Capability(value);
  } else if (name == "multiprocessors") {
    settings.multiprocessors = static_cast<int>(number);
  } else if (name == "memory") {
    settings.memory = Bytes(value);
  } else if (name == "slow") {
    settings.slow_microseconds = number;
  } else if (name == "counted_time") {
    settings.counted_time = number != 0;
  } else if (name == "blocking") {
    settings.blocking = number != 0;
  } else if (name == "interleaving") {
    settings.interleaving = number;
  } else if (name == "missing_block") {
    settings.missing_block = number != 0;
  } else if (name == "wrong_store") {
    settings.wrong_store = number != 0;
  } else if (name == "host_dropout") {
    settings.host_dropout = number != 0;
  } else if (name == "frozen_masks") {
    settings.frozen_masks = number != 0;
  } else if (name == "staged_lengths") {
    settings.staged_lengths = number != 0;
  } else if (name == "other_release") {
    settings.other_release = number != 0;
  } else if (name == "stale_errors") {
    settings.stale_errors = number != 0;
  } else if (name == "persist_refuses") {
    if (value != "forward" && value != "backward" && value != "dropout" && value != "never") return false;
    settings.persist_refuses = value;
  } else if (name == "sticky") {
    StickyTurns() = number;
  } else if (StartsWith(name, "version.")) {
    settings.versions[name.substr(8)] = number;
  } else if (StartsWith(name, "fault.")) {
    const std::string symbol = name.substr(6);
    Fault fault = ParsedFault(value);
    fault.from += CallCount(symbol);  // a fault counts the calls from now on
    if (fault.status == 0) {
      settings.faults.erase(symbol);
    } else {
      settings.faults[symbol] = fault;
    }
  } else {
    return false;
  }
  return true;
}

Settings FromEnvironment() {
  Settings settings;
  const char* enabled = std::getenv("CUDNN_RNN_CUDA_EMULATOR");
  settings.enabled = enabled != nullptr && std::string(enabled) == "1";
  const char* text = std::getenv("CUDNN_RNN_CUDA_EMULATOR_SETTINGS");
  std::stringstream pairs(text == nullptr ? "" : text);
  for (std::string pair; std::getline(pairs, pair, ';');) {
    if (const std::size_t equals = pair.find('='); equals != std::string::npos) {
      Apply(settings, Trimmed(pair.substr(0, equals)), Trimmed(pair.substr(equals + 1)));
    }
  }
  return settings;
}

void Reset() {
  {
    const std::lock_guard lock(mutex);
    StickyTurns() = 0;
    Current() = std::make_shared<Settings>(FromEnvironment());
  }
  ResetLedger();
  ResetDevices();
}

}  // namespace

std::shared_ptr<const Settings> CurrentSettings() {
  const std::lock_guard lock(mutex);
  return Current();
}

long SpoofedVersion(const std::string& component, long fallback) {
  const std::lock_guard lock(mutex);
  const auto found = Current()->versions.find(component);
  return found == Current()->versions.end() ? fallback : found->second;
}

std::optional<std::string> Configure(const std::string& text) {
  std::string lines = text;
  std::replace(lines.begin(), lines.end(), ';', '\n');
  std::stringstream pairs(lines);
  for (std::string line; std::getline(pairs, line);) {
    const std::string pair = Trimmed(line);
    if (pair.empty()) continue;
    if (pair == "reset") {
      Reset();
      continue;
    }
    const std::size_t equals = pair.find('=');
    const std::string name = Trimmed(pair.substr(0, equals));
    const std::string value = equals == std::string::npos ? "" : Trimmed(pair.substr(equals + 1));
    const std::lock_guard lock(mutex);
    const auto changed = std::make_shared<Settings>(*Current());
    if (value.empty() || !Apply(*changed, name, value)) return "Cannot set \"" + pair + "\"";
    Current() = changed;
  }
  return std::nullopt;
}

std::optional<int> InjectedStatus(const std::string& symbol, long call) {
  const std::lock_guard lock(mutex);
  const auto found = Current()->faults.find(symbol);
  if (found == Current()->faults.end()) return std::nullopt;
  const Fault& fault = found->second;
  const bool hit = fault.onwards ? call >= fault.from : call == fault.from;
  return hit ? std::optional(fault.status) : std::nullopt;
}

bool TakeStickyTurn() { return StickyTurns() > 0 && --StickyTurns() == 0; }

}  // namespace emulator
