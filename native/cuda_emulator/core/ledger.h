#pragma once

#include <string>

namespace emulator {

/// Counts a call of `symbol` and returns its number, from 1.
long CountCall(const char* symbol);

/// Calls of `symbol` so far.
long CallCount(const std::string& symbol);

/// Adds `change` to the number of live things of `kind` ("streams", "device bytes", …).
void CountLive(const char* kind, long change);

/// Adds to the bytes that were copied in one direction ("host to device", …), by a call or in a graph.
void CountCopied(const char* direction, long bytes);

/// Notes a rule of CUDA or cuDNN that the caller broke, whether or not the real libraries would have noticed.
void ReportViolation(const std::string& text);

/// Everything counted, as JSON: {"live": {kind: n}, "calls": {symbol: n}, "copied": {direction: bytes},
/// "violations": [text]}.
std::string Report();

/// Clears calls, copied bytes and violations. Counts of live objects stay.
void ResetLedger();

}  // namespace emulator
