#include "device/worker.h"

#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "device_session.h"

namespace cudnn_rnn {
namespace {

/// Whether an error comes from the batch in which `call` failed: each object has a copy.
bool IsOf(const ErrorRef& error, const std::string& call, int status) {
  return error != nullptr && error->call == call && error->status == status;
}

TEST_CASE("Worker::Open reads the device, and Close gives everything back") {
  for (const bool has_pools : {true, false}) {
    HostDevice device;
    device.has_pools = has_pools;
    HostBlockPool pool(device.libraries);
    Worker worker(device.libraries, 2, pool);
    DeviceInfo info = worker.Open();
    CHECK(info.name == "Host device");
    CHECK(info.numbers["computeCapability"] == 90);
    CHECK(info.numbers["multiProcessors"] == 132);
    CHECK(info.numbers["memoryPools"] == has_pools);
    CHECK(info.numbers["cudnnVersion"] == 90100);
    CHECK(info.numbers["nvrtcVersion"] == 12040);
    CHECK(info.numbers["driverVersion"] == 12050);
    CHECK(info.numbers["dropoutStatesBytes"] == 4096);
    CHECK(device.calls("cudaSetDevice")[0].numbers[0] == 2);
    CHECK(device.count(has_pools ? "cudaMallocAsync" : "cudaMalloc") == 1);
    worker.Close();
    CHECK(device.live().empty());
    // Idempotent.
    worker.Close();
    CHECK(device.live().empty());
  }
}

TEST_CASE("Worker::Open fails with the call that failed, and Close gives back every object") {
  for (const char* function : {"cudaSetDevice",
                               "cudaFree(null)",
                               "cuInit",
                               "cudaDeviceGetAttribute",
                               "cuDeviceGet",
                               "cuDeviceGetName",
                               "cudaStreamCreateWithFlags",
                               "cudaDeviceGetDefaultMemPool",
                               "cudaMemPoolSetAttribute",
                               "cudnnCreate",
                               "cudnnSetStream",
                               "cublasCreate_v2",
                               "cublasSetStream_v2",
                               "cudaMallocAsync",
                               "cublasSetWorkspace_v2",
                               "cudnnDropoutGetStatesSize",
                               "cudaDriverGetVersion",
                               "cudaRuntimeGetVersion",
                               "cublasGetVersion_v2",
                               "nvrtcVersion",
                               "cudaMemGetInfo"}) {
    CAPTURE(function);
    HostDevice device;
    device.Fail(function, 5);
    HostBlockPool pool(device.libraries);
    Worker worker(device.libraries, 0, pool);
    std::string call;
    int status = 0;
    try {
      worker.Open();
    } catch (const NativeError& error) {
      call = error.call;
      status = error.status;
    }
    CHECK(std::string(function).find(call) == 0);
    CHECK(status == 5);
    worker.Close();
    CHECK(device.live().empty());
  }
}

TEST_CASE("A batch allocates, uploads, copies, clears, downloads and releases in its order") {
  OpenWorker open;
  BatchWords words;
  std::vector<float> read(4);
  words.Segment().Allocate(1, 16).Allocate(2, 16);
  words.Add(Opcode::kUpload, {words.Slot(1), 0, words.Source<float>(open.pool, {1, 2, 3, 4})});
  words.Add(Opcode::kClear, {words.Slot(2), 0, 16});
  words.Add(Opcode::kCopy, {words.Slot(2), 4, words.Slot(1), 8, 8});
  words.Add(Opcode::kUpload, {words.Slot(2), 12, words.Source<float>(open.pool, {9})});
  words.Add(Opcode::kDownload, {words.Slot(2), 0, words.Target(read)});
  words.Release(1);
  Batch& batch = open.Run(words);
  REQUIRE(batch.error == nullptr);
  CHECK(read == std::vector<float>{0, 3, 4, 9});
  CHECK(open.worker.Find(1) == nullptr);
  REQUIRE(open.worker.Find(2) != nullptr);
  CHECK(std::get<Buffer>(open.worker.Find(2)->value).bytes == 16);
}

TEST_CASE("A release happens after the commands of its segment, before the next one") {
  OpenWorker open;
  BatchWords words;
  words.Segment().Allocate(1, 16).Release(1);
  words.Add(Opcode::kClear, {words.Slot(1), 0, 16});
  words.Segment().Add(Opcode::kClear, {words.Slot(1), 0, 16});
  const Batch& batch = open.Run(words);
  REQUIRE(batch.error != nullptr);
  CHECK(batch.failed_segment == 1);
  CHECK(batch.error->name == "UNKNOWN_OBJECT");
  CHECK(open.device.count("cudaMemsetAsync") == 1);
}

TEST_CASE("Each buffer has its own address, also one of no bytes") {
  OpenWorker open;
  BatchWords words;
  words.Segment().Allocate(1, 0).Allocate(2, 0);
  REQUIRE(open.Run(words).error == nullptr);
  const auto address = [&](Id id) { return std::get<Buffer>(open.worker.Find(id)->value).pointer; };
  CHECK(address(1) != nullptr);
  CHECK(address(1) != address(2));
}

TEST_CASE("After a failure the rest is skipped: its new objects carry the error, others keep their contents") {
  OpenWorker open;
  open.Make<float>(1, {1});
  open.Make<float>(2, {2});
  BatchWords words;
  words.Segment().Allocate(10, 4);
  words.Segment().Add(Opcode::kClear, {words.Slot(1), 0, 4});
  words.Segment().Allocate(11, 4);
  words.Add(Opcode::kClear, {words.Slot(2), 0, 4});
  open.device.Fail("cudaMemsetAsync", 77);
  const Batch& batch = open.Run(words);
  open.device.Recover();
  REQUIRE(batch.error != nullptr);
  CHECK(batch.error->call == "cudaMemsetAsync");
  CHECK(batch.error->status == 77);
  CHECK(batch.failed_segment == 1);
  CHECK(open.device.count("cudaMemsetAsync") == 1);
  // Made before the failure.
  CHECK(open.ErrorOf(10) == nullptr);
  // The output of the failed command.
  CHECK(open.ErrorOf(1) == batch.error);
  // An object of the skipped segment.
  CHECK(IsOf(open.ErrorOf(11), "cudaMemsetAsync", 77));
  CHECK(open.ErrorOf(2) == nullptr);
  std::vector<float> read(1);
  CHECK(open.Read(2, read) == nullptr);
  CHECK(read[0] == 2);
  // A command that reads an invalid buffer fails with the first error.
  CHECK(IsOf(open.Read(1, read), "cudaMemsetAsync", 77));
  CHECK(IsOf(open.Read(11, read), "cudaMemsetAsync", 77));
  CHECK(read[0] == 2);
}

TEST_CASE("A buffer is valid again after it was written") {
  OpenWorker open;
  open.Make<float>(1, {1});
  open.device.Fail("cudaMemsetAsync", 77);
  BatchWords failing;
  failing.Segment().Add(Opcode::kClear, {failing.Slot(1), 0, 4});
  open.Run(failing);
  open.device.Recover();
  CHECK(open.ErrorOf(1) != nullptr);
  BatchWords words;
  words.Segment().Add(Opcode::kUpload, {words.Slot(1), 0, words.Source<float>(open.pool, {5})});
  CHECK(open.Run(words).error == nullptr);
  std::vector<float> read(1);
  CHECK(open.Read(1, read) == nullptr);
  CHECK(read[0] == 5);
}

TEST_CASE("Of a step, a segment that fails before it runs leaves the objects of others valid") {
  for (const bool is_step : {true, false}) {
    OpenWorker open;
    open.Make<float>(1, {1});
    BatchWords words;
    words.batch().is_step = is_step;
    // More than the device has: the segment's memory is allocated before its commands run.
    open.device.capacity = open.device.used + 100;
    words.Segment().Add(Opcode::kClear, {words.Slot(1), 0, 4});
    words.Allocate(2, 1000);
    const Batch& batch = open.Run(words);
    REQUIRE(batch.error != nullptr);
    CHECK(open.device.count("cudaMemsetAsync") == 0);
    CHECK((open.ErrorOf(1) == nullptr) == is_step);
    CHECK(open.ErrorOf(2) == batch.error);
  }
}

TEST_CASE("An allocation that fails trims the pool, tries again, and reports the device's memory") {
  OpenWorker open;
  open.device.capacity = open.device.used + 1000;
  BatchWords words;
  words.Segment().Allocate(1, 1001);
  const Batch& batch = open.Run(words);
  REQUIRE(batch.error != nullptr);
  CHECK(batch.error->name == "cudaErrorMemoryAllocation");
  CHECK(batch.error->requested_bytes == 1001);
  CHECK(batch.error->free_bytes == 1000);
  CHECK(batch.error->total_bytes == static_cast<double>(open.device.capacity));
  CHECK(open.device.count("cudaMallocAsync") == 2);
  CHECK(open.device.count("cudaMemPoolTrimTo") == 1);
  CHECK(open.device.count("cudaGetLastError") == 2);
  // Later batches run.
  BatchWords smaller;
  smaller.Segment().Allocate(2, 1000);
  CHECK(open.Run(smaller).error == nullptr);
}

TEST_CASE("An allocation succeeds where trimming the pool gives memory back") {
  OpenWorker open;
  open.device.Fail("cudaMallocAsync", cudaErrorMemoryAllocation);
  auto trim = open.device.libraries.cudart.cudaMemPoolTrimTo;
  static HostDevice* trimmed = nullptr;
  trimmed = &open.device;
  open.device.libraries.cudart.cudaMemPoolTrimTo = [](cudaMemPool_t, std::size_t) {
    trimmed->Recover();
    return 0;
  };
  BatchWords words;
  words.Segment().Allocate(1, 10);
  CHECK(open.Run(words).error == nullptr);
  open.device.libraries.cudart.cudaMemPoolTrimTo = trim;
}

TEST_CASE("The error of a lost device replaces that of the call which met it") {
  OpenWorker open;
  open.Make<float>(1, {1});
  open.device.Fail("cudaMemsetAsync", 1);
  open.device.Fail("cudaStreamSynchronize", 700);
  BatchWords words;
  words.Segment().Add(Opcode::kClear, {words.Slot(1), 0, 4});
  const Batch& batch = open.Run(words);
  open.device.Recover();
  REQUIRE(batch.error != nullptr);
  CHECK(batch.error->status == 700);
  CHECK(batch.error->call == "cudaMemsetAsync");
}

TEST_CASE("Objects are released once, also after a failure and by a batch that is skipped") {
  OpenWorker open;
  const auto bytes = open.device.used;
  open.Make<float>(1, {1});
  open.Make<float>(2, {1});
  BatchWords words;
  words.batch().condition = Batch::Condition::kIfCaptured;
  words.batch().releases = {1, 1, 99};
  open.Run(words);
  CHECK(open.worker.Find(1) == nullptr);
  BatchWords failing;
  failing.Segment().Add(Opcode::kClear, {failing.Slot(50), 0, 4});
  failing.Segment().Release(2);
  CHECK(open.Run(failing).error != nullptr);
  CHECK(open.worker.Find(2) == nullptr);
  CHECK(open.device.used == bytes);
}

TEST_CASE("A timed batch reports its milliseconds, and makes its events once") {
  OpenWorker open;
  for (int run = 0; run < 3; run++) {
    BatchWords words;
    words.batch().is_timed = true;
    words.Segment().Add(Opcode::kMemoryInfo);
    const Batch& batch = open.Run(words);
    REQUIRE(batch.results.size() == 3);
    CHECK(batch.results[1] == static_cast<double>(open.device.capacity));
    CHECK(batch.results[0] == static_cast<double>(open.device.capacity - open.device.used));
    CHECK(batch.results[2] == 1.5);
  }
  CHECK(open.device.live()["event"] == 2);
}

/// A batch that clears a buffer inside a graph.
void CaptureClear(BatchWords& words, Id graph, Id buffer) {
  words.batch().graph = graph;
  words.Segment().Add(Opcode::kClear, {words.Slot(buffer), 0, 4});
}

TEST_CASE("A captured batch becomes a graph, which later batches launch") {
  OpenWorker open;
  open.Make<float>(1, {1});
  BatchWords capture;
  CaptureClear(capture, 100, 1);
  REQUIRE(open.Run(capture).error == nullptr);
  CHECK(open.device.live()["graph"] == 1);
  CHECK(open.device.live()["template"] == 0);
  BatchWords launch;
  launch.batch().condition = Batch::Condition::kIfCaptured;
  launch.Segment().Add(Opcode::kLaunchGraph, {100});
  CHECK(open.Run(launch).error == nullptr);
  BatchWords other;
  other.batch().condition = Batch::Condition::kUnlessCaptured;
  other.Segment().Add(Opcode::kLaunchGraph, {100});
  CHECK(open.Run(other).error == nullptr);
  CHECK(open.device.count("cudaGraphLaunch") == 1);
  BatchWords release;
  release.batch().releases = {100};
  open.Run(release);
  CHECK(open.device.live()["graph"] == 0);
}

TEST_CASE("A failed capture ends the capture, leaves every object as it was, and the calls run instead") {
  for (const char* function :
       {"cudaStreamBeginCapture", "cudaMemsetAsync", "cudaStreamEndCapture", "cudaGraphInstantiateWithFlags"}) {
    CAPTURE(function);
    OpenWorker open;
    open.Make<float>(1, {1});
    open.device.Fail(function, 900);
    BatchWords capture;
    CaptureClear(capture, 100, 1);
    const Batch& batch = open.Run(capture);
    open.device.Recover();
    REQUIRE(batch.error != nullptr);
    CHECK(batch.error->call == function);
    CHECK(!open.device.is_capturing);
    CHECK(open.worker.Find(100) == nullptr);
    CHECK(open.ErrorOf(1) == nullptr);
    CHECK(open.device.live()["template"] == 0);
    CHECK(open.device.live()["graph"] == 0);
    open.device.Forget();
    for (const auto condition : {Batch::Condition::kIfCaptured, Batch::Condition::kUnlessCaptured}) {
      BatchWords words;
      words.batch().condition = condition;
      words.Segment().Add(Opcode::kClear, {words.Slot(1), 0, 4});
      CHECK(open.Run(words).error == nullptr);
    }
    CHECK(open.device.count("cudaMemsetAsync") == 1);
  }
}

TEST_CASE(
    "A graph is not launched once a buffer that it reads is gone or invalid, and a failed launch changes nothing") {
  OpenWorker open;
  open.Make<float>(1, {1});
  open.Make<float>(2, {2});
  BatchWords capture;
  capture.batch().graph = 100;
  capture.Segment().Add(Opcode::kCopy, {capture.Slot(2), 0, capture.Slot(1), 0, 4});
  REQUIRE(open.Run(capture).error == nullptr);
  const auto launch = [&] {
    BatchWords words;
    words.Segment().Add(Opcode::kLaunchGraph, {100});
    return open.Run(words).error;
  };
  CHECK(launch() == nullptr);
  open.device.Fail("cudaGraphLaunch", 1);
  CHECK(launch() != nullptr);
  open.device.Recover();
  // All kernels of a graph run or none.
  CHECK(open.ErrorOf(2) == nullptr);
  auto invalid = std::make_shared<NativeError>();
  invalid->call = "an earlier call";
  invalid->status = 3;
  open.worker.Find(1)->error = invalid;
  CHECK(IsOf(launch(), "an earlier call", 3));
  BatchWords release;
  release.batch().releases = {1};
  open.Run(release);
  const ErrorRef gone = launch();
  REQUIRE(gone != nullptr);
  CHECK(gone->name == "UNKNOWN_OBJECT");
  CHECK(open.device.count("cudaGraphLaunch") == 2);
}

TEST_CASE("A call on the stream gets the stream and the arrays, and its error invalidates them") {
  for (const bool fails : {false, true}) {
    OpenWorker open;
    open.Make<float>(1, {1});
    open.Make<float>(2, {2});
    CommunicatorEnd communicator;
    BatchWords words;
    words.batch().slots = {2, 1};
    words.batch().stream_call.emplace();
    communicator.arrived = words.batch().stream_call->arrived.get_future();
    words.batch().stream_call->taken = communicator.taken.get_future();
    auto error = std::make_shared<NativeError>();
    error->name = "of the call";
    std::thread other([&] {
      const StreamArrival arrival = communicator.arrived.get();
      CHECK(arrival.stream == open.worker.stream);
      CHECK(arrival.arrays == std::vector<void*>{std::get<Buffer>(open.worker.Find(2)->value).pointer,
                                                 std::get<Buffer>(open.worker.Find(1)->value).pointer});
      CHECK(arrival.error == nullptr);
      communicator.taken.set_value(fails ? error : nullptr);
    });
    const Batch& batch = open.Run(words);
    other.join();
    CHECK((batch.error != nullptr) == fails);
    for (const Id id : {1, 2}) CHECK(open.ErrorOf(id) == batch.error);
    if (fails) CHECK(batch.error->name == "of the call");
  }
}

TEST_CASE("A call on the stream whose other end was dropped fails, and does not wait") {
  OpenWorker open;
  open.Make<float>(1, {1});
  BatchWords words;
  words.batch().slots = {1};
  words.batch().stream_call.emplace();
  {
    CommunicatorEnd dropped;
    dropped.arrived = words.batch().stream_call->arrived.get_future();
    words.batch().stream_call->taken = dropped.taken.get_future();
  }
  const Batch& batch = open.Run(words);
  REQUIRE(batch.error != nullptr);
  CHECK(batch.error->name == "HOST_FAILURE");
  CHECK(open.ErrorOf(1) == batch.error);
}

TEST_CASE("Commands without a device run on host memory, and leave nothing behind") {
  HostDevice device;
  HostBlockPool pool(device.libraries);
  Worker worker(device.libraries, 0, pool);
  BatchWords words;
  words.Segment().Add(Opcode::kAllocateOnHost, {words.Slot(1), 100});
  words.Add(Opcode::kSetDropoutDescriptor, {20, 0.5, words.Slot(1), -2});
  words.Segment().Add(Opcode::kSetRnnDescriptor, {21, 0, 2, 2, 0, 0, 0, 0, 0, 3, 4, 4, 1, 20, 0, NAN});
  words.Add(Opcode::kWeightSpaceSize, {21});
  worker.RunWithoutDevice(words.batch());
  REQUIRE(words.batch().error == nullptr);
  CHECK(words.batch().results == std::vector<double>{8589934597.0});
  CHECK(device.calls("cudnnSetDropoutDescriptor")[0].numbers[1] == 100);
  CHECK(device.live().empty());
  CHECK(worker.Find(1) == nullptr);
  CHECK(worker.Find(21) == nullptr);
}

}  // namespace
}  // namespace cudnn_rnn
