#include "core/control.h"

#include <cstdio>

#include "core/ledger.h"
#include "core/settings.h"

int fakeGpuConfigure(const char* text, char* problem, std::size_t room) {
  const auto wrong = fake::Configure(text);
  if (wrong && room > 0) std::snprintf(problem, room, "%s", wrong->c_str());
  return wrong ? 1 : 0;
}

std::size_t fakeGpuReport(char* json, std::size_t room) {
  const std::string report = fake::Report();
  if (room > 0) std::snprintf(json, room, "%s", report.c_str());
  return report.size() + 1;
}
