// libcudnn.so: forwards every function to the sub-library that has it, opened at first use beside this file, as
// NVIDIA's does. The behavior for a missing sub-library is the same too: cuDNN 8 ends the process; cuDNN 9 ends it in
// functions that cannot return a status and returns CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE from the others.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include "abi/cudnn.h"

namespace {

std::string FolderOfThisLibrary() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&FolderOfThisLibrary), &info);
  const std::string file = info.dli_fname;
  return file.substr(0, file.rfind('/') + 1);
}

void* Symbol(const std::string& library, const char* name) {
  static std::mutex mutex;
  static std::map<std::string, void*> opened;
  const std::lock_guard lock(mutex);
  void*& handle = opened[library];
  if (handle == nullptr) {
    const std::string file = FolderOfThisLibrary() + "libcudnn_" + library + ".so." + std::to_string(EMULATOR_CUDNN_MAJOR);
    handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

template <class Result>
Result Missing(const char* library, const char* name) {
  constexpr cudnnStatus_t kSublibraryMissing = 3009;
  if constexpr (EMULATOR_CUDNN_MAJOR >= 9 && std::is_same_v<Result, cudnnStatus_t>) return kSublibraryMissing;
  std::fprintf(stderr, "Invalid handle. Cannot load symbol %s of libcudnn_%s.so.%d\n", name, library, EMULATOR_CUDNN_MAJOR);
  std::abort();
}

}  // namespace

#define FORWARD(library, result, name, parameters, arguments)        \
  result name parameters {                                           \
    void* const symbol = Symbol(#library, #name);                    \
    if (symbol == nullptr) return Missing<result>(#library, #name);  \
    return reinterpret_cast<result(*) parameters>(symbol) arguments; \
  }
#define FORWARD_9(library9, library8, result, name, parameters, arguments) \
  FORWARD(library9, result, name, parameters, arguments)
#define FORWARD_8(library9, library8, result, name, parameters, arguments) \
  FORWARD(library8, result, name, parameters, arguments)

#if EMULATOR_CUDNN_MAJOR >= 9
CUDNN_FUNCTIONS(FORWARD_9)
CUDNN_9_FUNCTIONS(FORWARD_9)
#else
CUDNN_FUNCTIONS(FORWARD_8)
CUDNN_8_FUNCTIONS(FORWARD_8)
#endif
