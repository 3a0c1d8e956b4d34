// Faults of an installation: libraries of other programs, missing sub-libraries, a process that ends while work is
// queued.

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "test/device_array.h"

namespace {

namespace files = std::filesystem;

constexpr int kSignal = 100;  // added to the number of a signal that ended a process

int StatusOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? kSignal + WTERMSIG(status) : WEXITSTATUS(status);
}

// Runs `body` in a separate process, on a copy of the folder without `missing`; returns how that process ended.
int InChild(const char* missing, const std::function<int()>& body) {
  const files::path copy = files::temp_directory_path() / ("emulator-installation-" + std::to_string(getpid()));
  files::copy(TheFolder().path, copy);
  files::remove(copy / missing);
  const pid_t child = fork();
  if (child == 0) {
    TheFolder().path = copy;
    if (freopen("/dev/null", "w", stderr) == nullptr) _exit(2);  // a library that aborts states why
    _exit(body());
  }
  const int status = StatusOf(child);
  files::remove_all(copy);
  return status;
}

constexpr int kAborted = kSignal + SIGABRT;

TEST(disabled, "a process that is not a test finds no GPU") {
  const int status = InChild("none", [] {
    unsetenv("CUDNN_RNN_CUDA_EMULATOR");
    int count = 1, version = 1;
    void* memory = nullptr;
    cudnnHandle_t handle = nullptr;
    const bool refused = cuda().cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver && count == 0 &&
                         cuda().cudaMalloc(&memory, 16) == cudaErrorInsufficientDriver &&
                         cuda().cudaDriverGetVersion(&version) == cudaSuccess && version == 0 &&
                         dnn().cudnnCreate(&handle) == (TheFolder().cudnn >= 9 ? 1001 : 1);
    return refused ? 0 : 1;
  });
  CHECK_EQUAL(status, 0);
}

TEST(no_adv, "without the sub-library of RNNs cuDNN 9 returns 3009, cuDNN 8 aborts") {
  const bool nine = TheFolder().cudnn >= 9;
  const int status = InChild(nine ? "libcudnn_adv.so.9" : "libcudnn_adv_infer.so.8", [] {
    cudnnRNNDescriptor_t descriptor = nullptr;
    return dnn().cudnnCreateRNNDescriptor(&descriptor) == 3009 ? 0 : 1;
  });
  CHECK_EQUAL(status, nine ? 0 : kAborted);
}

TEST(no_graph, "without the first sub-library requesting the version aborts the process") {
  const bool nine = TheFolder().cudnn >= 9;
  const int status = InChild(nine ? "libcudnn_graph.so.9" : "libcudnn_ops_infer.so.8", [] {
    dnn().cudnnGetVersion();
    return 0;
  });
  CHECK_EQUAL(status, kAborted);
}

TEST(exit_in_flight, "a process may end while streams work") {
  const int status = InChild("none", [] {
    Configure("slow=1000");
    void* memory = nullptr;
    cuda().cudaMalloc(&memory, 16);
    for (int i = 0; i < 1000; ++i) cuda().cudaMemsetAsync(memory, i, 16, nullptr);
    std::exit(0);
    return 1;
  });
  CHECK_EQUAL(status, 0);
}

}  // namespace

int main(int argc, char** argv) {
  UseFolder(argc, argv);
  return check::RunTests();
}
