// The libraries of in_process_mpi.h that the build has made, by their paths.
#pragma once

#include <dlfcn.h>

#include <doctest/doctest.h>

#include <string>

#include "in_process_mpi.h"

namespace cudnn_rnn {

/// The library `name` beside the test program.
inline std::string TestLibrary(const std::string& name) { return std::string(CUDNN_RNN_TEST_LIBRARIES) + "/" + name; }

/// An address that a library exports.
inline void* Exported(const std::string& path, const char* name) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  REQUIRE(library != nullptr);
  return dlsym(library, name);
}

/// Makes `job` the job of the library at `path`.
inline void Begin(const std::string& path, in_process_mpi::Job& job) {
  const auto begin = reinterpret_cast<in_process_mpi::Begin>(Exported(path, in_process_mpi::kBegin));
  const bool is_found = begin != nullptr;
  REQUIRE(is_found);
  begin(&job);
}

}  // namespace cudnn_rnn
