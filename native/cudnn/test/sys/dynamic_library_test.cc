#include "sys/dynamic_library.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <set>

#include "sys/libraries.h"

namespace cudnn_rnn {
namespace {

TEST_CASE("OpenLibrary opens by name, FindSymbol finds its exports, LibraryFile has its path") {
  std::string error = "unchanged";
  void* library = OpenLibrary("libm.so.6", &error);
  REQUIRE(library != nullptr);
  CHECK(error == "unchanged");
  double (*square_root)(double) = nullptr;
  void* address = FindSymbol(library, "sqrt");
  REQUIRE(address != nullptr);
  std::memcpy(&square_root, static_cast<const void*>(&address), sizeof address);
  CHECK(square_root(6.25) == 2.5);
  CHECK(FindSymbol(library, "cudnnCreate") == nullptr);
  const std::string file = LibraryFile(library);
  CHECK(file.front() == '/');
  CHECK(file.find("libm.so.6") != std::string::npos);
}

TEST_CASE("OpenLibrary returns null with the loader's text, which names the file") {
  std::string error;
  CHECK(OpenLibrary("/missing/libcudnn.so.9", &error) == nullptr);
  CHECK(error.find("/missing/libcudnn.so.9") != std::string::npos);
}

TEST_CASE("ReplaceImport changes the calls of one library, and of one name") {
  std::string error;
  // This program.
  void* program = OpenLibrary("", &error);
  REQUIRE(program != nullptr);
  void* before = FindSymbol(program, "getppid");
  const pid_t process = getpid();
  const pid_t parent = getppid();
  ReplaceImport(program, "getppid", reinterpret_cast<void*>(+[]() -> pid_t { return -2; }));
  CHECK(getppid() == -2);
  CHECK(getpid() == process);
  ReplaceImport(program, "getppid", before);
  CHECK(getppid() == parent);
}

TEST_CASE("Bind names every required symbol that a library lacks, and no optional one") {
  std::string error;
  void* library = OpenLibrary("libm.so.6", &error);
  REQUIRE(library != nullptr);
  const struct {
    const char* kind;
    std::set<std::string> required;
    std::set<std::string> optional;
  } cases[] = {
      {"cudart", {"cudaMallocAsync", "cudaStreamBeginCapture", "cudaGraphLaunch"}, {}},
      {"driver", {"cuInit", "cuModuleLoadData", "cuLaunchKernel"}, {}},
      {"nvrtc", {"nvrtcCompileProgram", "nvrtcGetCUBIN"}, {"nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"}},
      {"cublas", {"cublasCreate_v2", "cublasGemmEx"}, {}},
      // What cuDNN 8 lacks is optional.
      {"cudnn",
       {"cudnnRNNForward", "cudnnRNNBackwardData_v8", "cudnnCTCLoss_v8", "cudnnRNNSetClip_v8"},
       {"cudnnRNNSetClip_v9", "cudnnSetCTCLossDescriptor_v9", "cudnnGetLastErrorString"}},
  };
  for (const auto& each : cases) {
    CAPTURE(each.kind);
    Libraries libraries;
    const std::vector<std::string> missing = libraries.Bind(each.kind, library);
    const std::set<std::string> names(missing.begin(), missing.end());
    CHECK(names.size() == missing.size());
    for (const std::string& name : each.required) CHECK(names.count(name) == 1);
    for (const std::string& name : each.optional) CHECK(names.count(name) == 0);
  }
  Libraries libraries;
  CHECK(libraries.Bind("cufft", library) == std::vector<std::string>{"the table cufft"});
}

}  // namespace
}  // namespace cudnn_rnn
