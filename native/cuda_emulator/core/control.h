#pragma once

#include <cstddef>

#include "abi/export.h"

// The tests' interface: the only way to change the emulated machine after a process has started.

/// Changes settings by text, see Configure in settings.h. Returns 0, or 1 and a message in `problem`.
EMULATOR_EXPORT int cudaEmulatorConfigure(const char* text, char* problem, std::size_t room);

/// Copies the report (ledger.h) as JSON into `json` and returns the room it needs with its end mark.
EMULATOR_EXPORT std::size_t cudaEmulatorReport(char* json, std::size_t room);
