#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "abi/cublas.h"
#include "abi/cudart.h"
#include "abi/cudnn.h"
#include "abi/driver.h"
#include "abi/nvrtc.h"

// The emulator libraries, opened as a binding opens them: by path, each function by name.

/// The folder under test and cuDNN's major version in it, from the program's arguments.
struct Folder {
  std::string path;
  int cudnn = 9;
  int Cuda() const { return cudnn + 4; }
};
inline Folder& TheFolder() {
  static Folder folder;
  return folder;
}

inline void* OpenLibrary(const std::string& file) {
  void* handle = dlopen((TheFolder().path + "/" + file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::printf("%s\n", dlerror());
    std::exit(2);
  }
  return handle;
}

#define FUNCTION_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
#define FIND_FUNCTION(result, name, parameters) name = reinterpret_cast<result(*) parameters>(dlsym(handle, #name));
#define CUDNN_MEMBER(library9, library8, result, name, parameters, arguments) FUNCTION_MEMBER(result, name, parameters)
#define FIND_CUDNN(library9, library8, result, name, parameters, arguments) FIND_FUNCTION(result, name, parameters)

struct Cudart {
  CUDART_FUNCTIONS(FUNCTION_MEMBER)
  Cudart() {
    void* handle = OpenLibrary("libcudart.so." + std::to_string(TheFolder().Cuda()));
    CUDART_FUNCTIONS(FIND_FUNCTION)
  }
};

struct Cudnn {
  CUDNN_FUNCTIONS(CUDNN_MEMBER)
  CUDNN_9_FUNCTIONS(CUDNN_MEMBER)
  CUDNN_8_FUNCTIONS(CUDNN_MEMBER)
  Cudnn() {
    void* handle = OpenLibrary("libcudnn.so." + std::to_string(TheFolder().cudnn));
    CUDNN_FUNCTIONS(FIND_CUDNN)
    CUDNN_9_FUNCTIONS(FIND_CUDNN)
    CUDNN_8_FUNCTIONS(FIND_CUDNN)
  }
};

inline const Cudart& cuda() {
  static const Cudart libraries;
  return libraries;
}
inline const Cudnn& dnn() {
  static const Cudnn libraries;
  return libraries;
}

/// The control functions of the core library.
struct Control {
  int (*configure)(const char*, char*, std::size_t);
  std::size_t (*report)(char*, std::size_t);
  Control() {
    void* handle = OpenLibrary("libemulated_gpu.so");
    configure = reinterpret_cast<decltype(configure)>(dlsym(handle, "cudaEmulatorConfigure"));
    report = reinterpret_cast<decltype(report)>(dlsym(handle, "cudaEmulatorReport"));
  }
};
inline const Control& control() {
  static const Control functions;
  return functions;
}

inline void Configure(const std::string& text) {
  char problem[200];
  if (control().configure(text.c_str(), problem, sizeof problem) != 0) std::printf("    %s\n", problem);
}

inline std::string Report() {
  std::string json(control().report(nullptr, 0), '\0');
  control().report(json.data(), json.size());
  json.pop_back();
  return json;
}

/// "[]" when no rule was broken since the last reset.
inline std::string Violations() {
  const std::string report = Report();
  const std::size_t at = report.find("\"violations\":");
  return report.substr(at + 13, report.size() - at - 14);
}

/// Takes the folder and the major version from the command line; enables the emulator.
inline void UseFolder(int argc, char** argv) {
  if (argc != 3) {
    std::printf("usage: %s FOLDER CUDNN_MAJOR\n", argv[0]);
    std::exit(2);
  }
  setenv("CUDNN_RNN_CUDA_EMULATOR", "1", 0);
  TheFolder() = {argv[1], std::atoi(argv[2])};
}
