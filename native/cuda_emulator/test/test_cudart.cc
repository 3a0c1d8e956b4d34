// The CUDA runtime: order of work, copies, events, capture; and the mistakes that the emulator finds.

#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "test/device_array.h"

namespace {

class Stream {
 public:
  Stream() { CHECK_EQUAL(cuda().cudaStreamCreateWithFlags(&stream_, 1), cudaSuccess); }
  ~Stream() { cuda().cudaStreamDestroy(stream_); }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// Holds a stream until it is opened.
class Gate {
 public:
  explicit Gate(cudaStream_t stream) {
    const auto wait = [](void* gate) {
      while (!static_cast<Gate*>(gate)->open_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    CHECK_EQUAL(cuda().cudaLaunchHostFunc(stream, wait, this), cudaSuccess);
  }
  void Open() { open_ = true; }

 private:
  std::atomic<bool> open_{false};
};

bool Broke(const char* words) { return Violations().find(words) != std::string::npos; }

TEST(memory_order, "a stream runs its work in order") {
  const Stream stream;
  const DeviceArray<int> x(64, 1), y(64, 2);
  CHECK_EQUAL(cuda().cudaMemsetAsync(x.get(), 0, x.Bytes(), stream.get()), cudaSuccess);
  CHECK_EQUAL(cuda().cudaMemcpyAsync(y.get(), x.get(), y.Bytes(), cudaMemcpyDeviceToDevice, stream.get()), cudaSuccess);
  CHECK_EQUAL(cuda().cudaStreamSynchronize(stream.get()), cudaSuccess);
  CHECK_EQUAL(y.Read()[63], 0);
  CHECK_EQUAL(Violations(), "[]");
  Configure("reset");
}

TEST(asynchronous, "an enqueue returns before its work is done") {
  const Stream stream;
  const DeviceArray<int> x(1, 0);
  cudaEvent_t done = nullptr;
  cuda().cudaEventCreateWithFlags(&done, 2);
  Gate gate(stream.get());
  cuda().cudaMemsetAsync(x.get(), 0, 4, stream.get());
  cuda().cudaEventRecord(done, stream.get());
  CHECK_EQUAL(cuda().cudaEventQuery(done), cudaErrorNotReady);
  CHECK_EQUAL(cuda().cudaStreamQuery(stream.get()), cudaErrorNotReady);
  gate.Open();
  CHECK_EQUAL(cuda().cudaEventSynchronize(done), cudaSuccess);
  CHECK_EQUAL(cuda().cudaEventQuery(done), cudaSuccess);
  CHECK_EQUAL(cuda().cudaEventDestroy(done), cudaSuccess);
}

sigjmp_buf escape;

TEST(host_access, "the host faults when it reads device memory") {
  const DeviceArray<int> x(4, 1);
  struct sigaction handler = {}, before = {};
  handler.sa_handler = [](int) { siglongjmp(escape, 1); };
  sigaction(SIGSEGV, &handler, &before);
  volatile bool faulted = false;
  if (sigsetjmp(escape, 1) == 0) {
    volatile int read = *x.get();
    (void)read;
  } else {
    faulted = true;
  }
  sigaction(SIGSEGV, &before, nullptr);
  CHECK(faulted);
}

TEST(fresh, "new device memory holds NaN, small or large, also where it was used before") {
  for (const std::size_t count : {1u, 3u << 20, 1u, 3u << 20}) {
    float* x = nullptr;
    CHECK_EQUAL(cuda().cudaMalloc(reinterpret_cast<void**>(&x), 4 * count), cudaSuccess);
    std::vector<float> values(count);
    cuda().cudaMemcpy(values.data(), x, 4 * count, cudaMemcpyDeviceToHost);
    CHECK(std::all_of(values.begin(), values.end(), [](float value) { return value != value; }));
    cuda().cudaMemset(x, 0, 4 * count);
    cuda().cudaFree(x);
  }
}

TEST(free_mistakes, "freeing twice and copying past the end are refused") {
  void* x = nullptr;
  char host[32] = {};
  cuda().cudaMalloc(&x, 16);
  CHECK_EQUAL(cuda().cudaMemcpy(x, host, 32, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CHECK(Broke("not inside one live allocation"));
  CHECK_EQUAL(cuda().cudaFree(x), cudaSuccess);
  CHECK_EQUAL(cuda().cudaFree(x), cudaErrorInvalidValue);
  CHECK(Broke("not a live device allocation"));
  CHECK_EQUAL(cuda().cudaMemcpy(x, host, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CHECK_EQUAL(cuda().cudaMemcpy(host, x, 16, cudaMemcpyHostToDevice), cudaErrorInvalidMemcpyDirection);
  Configure("reset");
}

TEST(use_after_free, "work on memory freed in another stream breaks the device until reset") {
  const Stream stream, other;
  void* x = nullptr;
  cuda().cudaMalloc(&x, 16);
  Gate gate(stream.get());
  cuda().cudaMemsetAsync(x, 0, 16, stream.get());
  cuda().cudaFreeAsync(x, other.get());
  cuda().cudaStreamSynchronize(other.get());
  gate.Open();
  CHECK_EQUAL(cuda().cudaStreamSynchronize(stream.get()), cudaErrorIllegalAddress);
  CHECK(Broke("with no event or synchronization"));
  CHECK(Broke("freed or never allocated"));
  CHECK_EQUAL(cuda().cudaMalloc(&x, 16), cudaErrorIllegalAddress);
  CHECK_EQUAL(cuda().cudaGetLastError(), cudaErrorIllegalAddress);
  Configure("reset");
  CHECK_EQUAL(cuda().cudaMalloc(&x, 16), cudaSuccess);
  cuda().cudaFree(x);
}

TEST(race, "two streams on the same bytes want an event between them") {
  const Stream first, second;
  const DeviceArray<int> x(64, 1);
  cuda().cudaMemsetAsync(x.get(), 0, 128, first.get());
  cuda().cudaMemsetAsync(x.get() + 32, 0, 128, second.get());  // other bytes of the same allocation
  CHECK_EQUAL(Violations(), "[]");
  cudaEvent_t event = nullptr;
  cuda().cudaEventCreateWithFlags(&event, 2);
  cuda().cudaEventRecord(event, first.get());
  cuda().cudaStreamWaitEvent(second.get(), event, 0);
  cuda().cudaMemsetAsync(x.get(), 1, 128, second.get());
  CHECK_EQUAL(Violations(), "[]");
  cuda().cudaMemsetAsync(x.get(), 2, 128, first.get());
  CHECK(Broke("with no event or synchronization"));
  cuda().cudaDeviceSynchronize();
  Configure("reset");
  cuda().cudaMemsetAsync(x.get(), 3, 128, second.get());
  CHECK_EQUAL(Violations(), "[]");
  cuda().cudaEventDestroy(event);
}

TEST(staging, "page-locked memory is read when the copy runs, ordinary memory at the call") {
  const Stream stream;
  const DeviceArray<int> x(1, 0), y(1, 0);
  int* pinned = nullptr;
  cuda().cudaMallocHost(reinterpret_cast<void**>(&pinned), 4);
  int ordinary = 7;
  *pinned = 1;
  Gate gate(stream.get());
  cuda().cudaMemcpyAsync(x.get(), &ordinary, 4, cudaMemcpyHostToDevice, stream.get());
  cuda().cudaMemcpyAsync(y.get(), pinned, 4, cudaMemcpyHostToDevice, stream.get());
  ordinary = 8;
  *pinned = 2;
  CHECK_EQUAL(Violations(), "[]");
  gate.Open();
  cuda().cudaStreamSynchronize(stream.get());
  CHECK_EQUAL(x.Read()[0], 7);
  CHECK_EQUAL(y.Read()[0], 2);
  CHECK(Broke("changed the source of a copy before the copy ran"));
  Configure("reset");
  cuda().cudaFreeHost(pinned);
}

TEST(limit, "cudaMalloc fails beyond the memory set, and works again after a free") {
  void *x = nullptr, *y = nullptr;
  Configure("memory=1M");
  CHECK_EQUAL(cuda().cudaMalloc(&x, 800 << 10), cudaSuccess);
  CHECK_EQUAL(cuda().cudaMallocAsync(&y, 800 << 10, nullptr), cudaErrorMemoryAllocation);
  std::size_t free = 0, total = 0;
  cuda().cudaMemGetInfo(&free, &total);
  CHECK_EQUAL(free, std::size_t{224} << 10);
  cuda().cudaFreeAsync(x, nullptr);
  CHECK_EQUAL(cuda().cudaMallocAsync(&y, 800 << 10, nullptr), cudaSuccess);
  cuda().cudaFree(y);
  Configure("reset");
}

TEST(capture, "a captured graph replays the recorded operations") {
  const Stream stream, side;
  const DeviceArray<int> x(4, 0), y(4, 5), z(4, 6);
  cudaEvent_t fork = nullptr, join = nullptr;
  cuda().cudaEventCreateWithFlags(&fork, 2);
  cuda().cudaEventCreateWithFlags(&join, 2);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK_EQUAL(cuda().cudaStreamBeginCapture(stream.get(), 1), cudaSuccess);
  cuda().cudaMemcpyAsync(x.get(), y.get(), 16, cudaMemcpyDeviceToDevice, stream.get());
  cuda().cudaEventRecord(fork, stream.get());
  cuda().cudaStreamWaitEvent(side.get(), fork, 0);
  cuda().cudaMemsetAsync(z.get(), 0, 16, side.get());
  cuda().cudaEventRecord(join, side.get());
  cuda().cudaStreamWaitEvent(stream.get(), join, 0);
  CHECK_EQUAL(cuda().cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
  std::size_t nodes = 0;
  cuda().cudaGraphGetNodes(graph, nullptr, &nodes);
  CHECK_EQUAL(nodes, std::size_t{2});
  CHECK_EQUAL(x.Read()[0], 0);
  CHECK_EQUAL(cuda().cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
  cuda().cudaGraphDestroy(graph);
  CHECK_EQUAL(cuda().cudaGraphLaunch(exec, stream.get()), cudaSuccess);
  cuda().cudaStreamSynchronize(stream.get());
  CHECK_EQUAL(x.Read()[3], 5);
  CHECK_EQUAL(z.Read()[3], 0);
  cuda().cudaGraphExecDestroy(exec);
  cuda().cudaEventDestroy(fork);
  cuda().cudaEventDestroy(join);
  CHECK_EQUAL(Violations(), "[]");
}

TEST(capture_mistakes, "a capture refuses what CUDA refuses") {
  const Stream stream, side;
  const DeviceArray<int> x(4, 0);
  cudaGraph_t graph = nullptr;
  void* pointer = nullptr;
  cuda().cudaStreamBeginCapture(stream.get(), 1);
  CHECK_EQUAL(cuda().cudaStreamSynchronize(stream.get()), cudaErrorStreamCaptureUnsupported);
  CHECK_EQUAL(cuda().cudaStreamEndCapture(stream.get(), &graph), cudaErrorStreamCaptureInvalidated);
  cuda().cudaStreamBeginCapture(stream.get(), 1);
  CHECK_EQUAL(cuda().cudaMalloc(&pointer, 16), cudaErrorStreamCaptureUnsupported);
  CHECK_EQUAL(cuda().cudaStreamEndCapture(stream.get(), &graph), cudaErrorStreamCaptureInvalidated);
  cudaEvent_t fork = nullptr;
  cuda().cudaEventCreateWithFlags(&fork, 2);
  cuda().cudaStreamBeginCapture(stream.get(), 1);
  cuda().cudaEventRecord(fork, stream.get());
  cuda().cudaStreamWaitEvent(side.get(), fork, 0);
  cuda().cudaMemsetAsync(x.get(), 0, 16, side.get());
  CHECK_EQUAL(cuda().cudaStreamEndCapture(stream.get(), &graph), cudaErrorStreamCaptureUnjoined);
  cuda().cudaEventDestroy(fork);
  Configure("reset");
}

TEST(host_functions, "host functions run in stream order, and not on a broken device") {
  const Stream stream;
  static std::atomic<int> calls{0};
  const auto count = [](void*) { ++calls; };
  cuda().cudaLaunchHostFunc(stream.get(), count, nullptr);
  cuda().cudaStreamSynchronize(stream.get());
  CHECK_EQUAL(calls.load(), 1);
  const DeviceArray<int> x(1, 0);
  Configure("sticky=1");
  cuda().cudaMemsetAsync(x.get(), 0, 4, stream.get());
  cuda().cudaLaunchHostFunc(stream.get(), count, nullptr);
  CHECK_EQUAL(cuda().cudaStreamSynchronize(stream.get()), cudaErrorIllegalAddress);
  CHECK_EQUAL(calls.load(), 1);
  Configure("reset");
}

TEST(devices, "memory and streams belong to their device") {
  Configure("devices=2");
  const DeviceArray<int> x(4, 1);
  CHECK_EQUAL(cuda().cudaSetDevice(1), cudaSuccess);
  {
    const Stream other;
    cuda().cudaMemsetAsync(x.get(), 0, 16, other.get());
    CHECK_EQUAL(cuda().cudaStreamSynchronize(other.get()), cudaErrorIllegalAddress);
    CHECK(Broke("memory of another device"));
  }
  Configure("reset; devices=2");
  CHECK_EQUAL(cuda().cudaSetDevice(2), cudaErrorInvalidDevice);
  CHECK_EQUAL(cuda().cudaSetDevice(0), cudaSuccess);
  Configure("reset");
}

TEST(faults, "an injected fault hits the call it names") {
  void* x = nullptr;
  Configure("fault.cudaMalloc=2@2");
  CHECK_EQUAL(cuda().cudaMalloc(&x, 16), cudaSuccess);
  cuda().cudaFree(x);
  CHECK_EQUAL(cuda().cudaMalloc(&x, 16), cudaErrorMemoryAllocation);
  CHECK_EQUAL(cuda().cudaGetLastError(), cudaErrorMemoryAllocation);
  CHECK_EQUAL(cuda().cudaGetLastError(), cudaSuccess);
  CHECK_EQUAL(cuda().cudaMalloc(&x, 16), cudaSuccess);
  cuda().cudaFree(x);
  Configure("fault.cudaMalloc=999");
  CHECK_EQUAL(cuda().cudaMalloc(&x, 16), 999);
  CHECK_EQUAL(cuda().cudaMalloc(&x, 16), 999);
  Configure("reset");
}

TEST(leaks, "everything that these tests made is released") {
  cuda().cudaDeviceSynchronize();
  const std::string report = Report();
  for (const char* kind : {"device allocations", "device bytes", "pinned allocations", "streams", "events", "graphs"}) {
    CHECK(report.find("\"" + std::string(kind) + "\":0") != std::string::npos ||
          report.find("\"" + std::string(kind) + "\"") == std::string::npos);
  }
}

TEST(pool, "freed memory stays in the pool until it is trimmed") {
  cudaMemPool_t pool = nullptr;
  std::uint64_t everything = UINT64_MAX;
  CHECK_EQUAL(cuda().cudaDeviceGetDefaultMemPool(&pool, 0), 0);
  CHECK_EQUAL(cuda().cudaMemPoolSetAttribute(pool, 4, &everything), 0);
  void* memory = nullptr;
  CHECK_EQUAL(cuda().cudaMallocAsync(&memory, 4096, nullptr), 0);
  CHECK_EQUAL(cuda().cudaFreeAsync(memory, nullptr), 0);
  CHECK_EQUAL(cuda().cudaDeviceSynchronize(), 0);
  CHECK_EQUAL(Report().find("\"pool bytes\":4096") != std::string::npos, true);
  CHECK_EQUAL(cuda().cudaMemPoolTrimTo(pool, 0), 0);
  CHECK_EQUAL(Report().find("\"pool bytes\":4096") == std::string::npos, true);
  std::uint64_t nothing = 0;
  CHECK_EQUAL(cuda().cudaMemPoolSetAttribute(pool, 4, &nothing), 0);
}

TEST(chosen_device, "a handle that is destroyed on a thread without a device is reported") {
  cudaEvent_t event = nullptr;
  CHECK_EQUAL(cuda().cudaEventCreateWithFlags(&event, 0), 0);
  std::thread([event] { cuda().cudaEventDestroy(event); }).join();
  CHECK_EQUAL(Violations().find("cudaEventDestroy on a thread without cudaSetDevice") != std::string::npos, true);
  Configure("reset");
}

}  // namespace

int main(int argc, char** argv) {
  UseFolder(argc, argv);
  cuda().cudaSetDevice(0);
  return check::RunTests();
}
