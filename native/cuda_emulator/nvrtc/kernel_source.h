#pragma once

#include <string>
#include <vector>

namespace emulator {

/// CUDA C made into C++ for the host: the prelude before it, dynamic shared memory rewritten, a table entry behind it
/// for each extern "C" kernel and each name expression.
std::string HostSource(const std::string& cuda, const std::vector<std::string>& name_expressions);

}  // namespace emulator
