#include "core/ledger.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace emulator {
namespace {

struct Ledger {
  std::mutex mutex;
  std::map<std::string, long> calls;
  std::map<std::string, long> live;
  std::map<std::string, long> copied;
  std::vector<std::string> violations;
};

Ledger& TheLedger() {
  static Ledger* ledger = new Ledger;  // never destroyed, see settings.cc
  return *ledger;
}

// A long run that breaks one rule in every step needs no more examples than this.
constexpr std::size_t kViolationsKept = 100;

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  quoted += '"';
  return quoted;
}

std::string Object(const std::map<std::string, long>& counts) {
  std::string object = "{";
  for (const auto& [name, count] : counts) {
    if (object.size() > 1) object += ',';
    object += Quoted(name) + ':' + std::to_string(count);
  }
  object += '}';
  return object;
}

}  // namespace

long CountCall(const char* symbol) {
  const std::lock_guard lock(TheLedger().mutex);
  return ++TheLedger().calls[symbol];
}

long CallCount(const std::string& symbol) {
  const std::lock_guard lock(TheLedger().mutex);
  const auto found = TheLedger().calls.find(symbol);
  return found == TheLedger().calls.end() ? 0 : found->second;
}

void CountLive(const char* kind, long change) {
  const std::lock_guard lock(TheLedger().mutex);
  TheLedger().live[kind] += change;
}

void CountCopied(const char* direction, long bytes) {
  const std::lock_guard lock(TheLedger().mutex);
  TheLedger().copied[direction] += bytes;
}

void ReportViolation(const std::string& text) {
  const std::lock_guard lock(TheLedger().mutex);
  if (std::getenv("CUDNN_RNN_CUDA_EMULATOR_VERBOSE") != nullptr) std::fprintf(stderr, "CUDA emulator: %s\n", text.c_str());
  if (TheLedger().violations.size() < kViolationsKept) TheLedger().violations.push_back(text);
}

std::string Report() {
  const std::lock_guard lock(TheLedger().mutex);
  std::string violations = "[";
  for (const std::string& text : TheLedger().violations) {
    if (violations.size() > 1) violations += ',';
    violations += Quoted(text);
  }
  return "{\"live\":" + Object(TheLedger().live) + ",\"calls\":" + Object(TheLedger().calls) +
         ",\"copied\":" + Object(TheLedger().copied) + ",\"violations\":" + violations + "]}";
}

void ResetLedger() {
  const std::lock_guard lock(TheLedger().mutex);
  TheLedger().calls.clear();
  TheLedger().copied.clear();
  TheLedger().violations.clear();
}

}  // namespace emulator
