#include "sys/status.h"

#include <doctest/doctest.h>

#include <functional>

#include "host_device.h"

namespace cudnn_rnn {
namespace {

/// What `check` throws.
NativeError Thrown(const std::function<void()>& check) {
  try {
    check();
  } catch (const NativeError& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return {};
}

TEST_CASE("Success throws nothing and calls nothing") {
  HostDevice device;
  const Libraries& libraries = device.libraries;
  CheckCudart(libraries, 0, "call");
  CheckDriver(libraries, 0, "call");
  CheckNvrtc(libraries, 0, "call");
  CheckCublas(libraries, 0, "call");
  CheckCudnn(libraries, 0, "call");
  CHECK(device.names().empty());
}

TEST_CASE("A failure becomes an error with the library, the call, the status and the library's texts") {
  HostDevice device;
  const Libraries& libraries = device.libraries;
  const struct {
    std::function<void()> check;
    const char* library;
    const char* name;
    const char* detail;
  } cases[] = {
      {[&] { CheckCudart(libraries, 700, "call"); }, "cudart", "cudaErrorOfTheTest", "text of the runtime"},
      {[&] { CheckDriver(libraries, 700, "call"); }, "driver", "CUDA_ERROR_OF_THE_TEST", "text of the driver"},
      {[&] { CheckNvrtc(libraries, 700, "call", "the log"); }, "nvrtc", "NVRTC_ERROR_OF_THE_TEST", "the log"},
      {[&] { CheckCublas(libraries, 700, "call"); }, "cublas", "CUBLAS_STATUS_OF_THE_TEST", ""},
      {[&] { CheckCudnn(libraries, 700, "call"); }, "cudnn", "CUDNN_STATUS_OF_THE_TEST", "text of cuDNN"},
  };
  for (const auto& each : cases) {
    const NativeError error = Thrown(each.check);
    CHECK(error.library == each.library);
    CHECK(error.call == "call");
    CHECK(error.status == 700);
    CHECK(error.name == each.name);
    CHECK(error.detail == each.detail);
    CHECK(error.requested_bytes == 0);
    CHECK(std::string(error.what()) == each.name);
  }
}

TEST_CASE("A failure of the runtime is cleared, so that no later call reports it") {
  HostDevice device;
  Thrown([&] { CheckCudart(device.libraries, 2, "cudaMalloc"); });
  CHECK(device.count("cudaGetLastError") == 1);
}

TEST_CASE("A status without a text has an empty one") {
  HostDevice device;
  CHECK(Thrown([&] { CheckDriver(device.libraries, 999, "call"); }).name.empty());
  CHECK(Thrown([&] { CheckDriver(device.libraries, 999, "call"); }).detail.empty());
  CHECK(Thrown([&] { CheckCudnn(device.libraries, 12345, "call"); }).name.empty());
  // cuDNN 8 has no text about the last error.
  device.libraries.cudnn.cudnnGetLastErrorString = nullptr;
  CHECK(Thrown([&] { CheckCudnn(device.libraries, 700, "call"); }).detail.empty());
}

}  // namespace
}  // namespace cudnn_rnn
