#include "core/control.h"

#include <cstdio>

#include "core/ledger.h"
#include "core/settings.h"

int cudaEmulatorConfigure(const char* text, char* problem, std::size_t room) {
  const auto wrong = emulator::Configure(text);
  if (wrong && room > 0) std::snprintf(problem, room, "%s", wrong->c_str());
  return wrong ? 1 : 0;
}

std::size_t cudaEmulatorReport(char* json, std::size_t room) {
  const std::string report = emulator::Report();
  if (room > 0) std::snprintf(json, room, "%s", report.c_str());
  return report.size() + 1;
}
