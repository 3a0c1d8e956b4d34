#pragma once

#include <string>
#include <vector>

namespace emulator {

struct Compilation {
  bool succeeded = false;
  std::string log;
  std::string library;  ///< the bytes of a shared library
};

/// Compiles C++ with the compiler that built this library (CXX in the environment takes precedence). Results are kept in
/// the temporary folder under a sum of everything that went in, as a compiler takes a second for what NVRTC does in
/// milliseconds.
Compilation CompileOnHost(const std::string& source, const std::vector<std::string>& options);

}  // namespace emulator
