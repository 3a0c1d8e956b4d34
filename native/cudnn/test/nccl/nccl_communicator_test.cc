#include "nccl/nccl_communicator.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <optional>

#include "host_device.h"
#include "sys/dynamic_library.h"

namespace cudnn_rnn {
namespace {

using Names = std::vector<std::string>;

std::unique_ptr<NcclOperation> Operation(NcclOperationKind kind) {
  auto operation = std::make_unique<NcclOperation>();
  operation->kind = kind;
  return operation;
}

/// An all-reduce of an array of the host: floats, a sum.
std::unique_ptr<NcclOperation> Sum(std::vector<float>& data) {
  auto operation = Operation(NcclOperationKind::kAllReduce);
  operation->data = data.data();
  operation->count = data.size();
  operation->type = 7;
  return operation;
}

/// A communicator over a HostDevice, and the operations that it settles.
class Communicator {
 public:
  explicit Communicator(NcclOptions options) : options_(std::move(options)) {}
  Communicator() : Communicator(NcclOptions{{4}, 0, 1, {}, 600}) {}

  /// Opens, after the test has changed the device.
  std::unique_ptr<NcclOperation> Open() {
    std::memset(options_.id.internal, 'n', sizeof options_.id.internal);
    communicator_.emplace(std::make_shared<Libraries>(device.libraries), device.nccl, options_);
    communicator_->Start(Operation(NcclOperationKind::kOpen), [this](std::unique_ptr<NcclOperation> operation) {
      const std::lock_guard lock(mutex_);
      settled_.push_back(std::move(operation));
      changed_.notify_one();
    });
    return Next();
  }
  /// The operation that settles next.
  std::unique_ptr<NcclOperation> Next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !settled_.empty(); });
    auto operation = std::move(settled_.front());
    settled_.pop_front();
    return operation;
  }
  std::unique_ptr<NcclOperation> Run(std::unique_ptr<NcclOperation> operation) {
    communicator_->Post(std::move(operation));
    return Next();
  }
  std::unique_ptr<NcclOperation> Close() { return Run(Operation(NcclOperationKind::kClose)); }
  bool HasSettled() {
    const std::lock_guard lock(mutex_);
    return !settled_.empty();
  }
  NcclCommunicator* operator->() { return &*communicator_; }

  HostDevice device;

 private:
  NcclOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<NcclOperation>> settled_;
  std::optional<NcclCommunicator> communicator_;
};

/// A call on the streams of one worker for each device, whose other ends the test has.
struct StreamCall {
  StreamCall(NcclOperationKind kind, std::size_t devices, std::vector<std::size_t> counts)
      : operation(Operation(kind)), workers(devices) {
    operation->counts = std::move(counts);
    operation->type = 7;
    for (WorkerEnd& worker : workers) {
      CommunicatorEnd end;
      end.arrived = worker.arrived.get_future();
      worker.taken = end.taken.get_future();
      operation->stream_calls.push_back(std::move(end));
    }
  }
  /// Worker `index` reaches the call with these arrays, or with the error that they carry.
  void Arrive(std::size_t index, std::vector<void*> arrays, ErrorRef error = nullptr) {
    StreamArrival arrival;
    arrival.arrays = std::move(arrays);
    arrival.error = std::move(error);
    workers[index].arrived.set_value(std::move(arrival));
  }

  std::unique_ptr<NcclOperation> operation;
  std::vector<WorkerEnd> workers;
};

ErrorRef ErrorNamed(const char* name) {
  auto error = std::make_shared<NativeError>();
  error->name = name;
  return error;
}

TEST_CASE("NCCL's functions are bound from a library, and the first that it lacks is named") {
  std::string text;
  void* library = OpenLibrary("libm.so.6", &text);
  REQUIRE(library != nullptr);
  try {
    BindNccl(library);
    FAIL("libm is not NCCL");
  } catch (const NativeError& error) {
    CHECK(error.library == "nccl");
    CHECK(error.name == "it has no ncclGetVersion");
  }
}

TEST_CASE("The version and an id come from NCCL, or an error with its status") {
  HostDevice device;
  CHECK(NcclVersion(device.nccl) == 22000);
  const ncclUniqueId id = NewNcclId(device.nccl);
  CHECK(std::string(id.internal, sizeof id.internal) == std::string(128, 'n'));
  device.nccl.ncclGetVersion = [](int*) { return 3; };
  device.Fail("ncclGetUniqueId", 2);
  const auto error_of = [](const auto& call) -> NativeError {
    try {
      call();
    } catch (const NativeError& error) {
      return error;
    }
    FAIL("no error");
    return {};
  };
  const NativeError version = error_of([&] { NcclVersion(device.nccl); });
  CHECK(version.call == "ncclGetVersion");
  CHECK(version.status == 3);
  CHECK(version.name == "NCCL_ERROR_OF_THE_TEST");
  const NativeError unique = error_of([&] { NewNcclId(device.nccl); });
  CHECK(unique.call == "ncclGetUniqueId");
  CHECK(unique.status == 2);
}

TEST_CASE("A communicator opens consecutive ranks, each on its device, as one group of non-blocking calls") {
  Communicator communicator({{4, 6}, 2, 5, {}, 600});
  CHECK(communicator.Open()->error == nullptr);
  const HostDevice& device = communicator.device;
  CHECK(device.names() == Names{"cudaSetDevice", "cudaStreamCreateWithFlags", "ncclGroupStart", "cudaSetDevice",
                                "ncclCommInitRankConfig", "cudaSetDevice", "ncclCommInitRankConfig", "ncclGroupEnd"});
  const auto opened = device.calls("ncclCommInitRankConfig");
  for (int k = 0; k < 2; k++) {
    CAPTURE(k);
    // Ranks, rank, the last byte of the id; of the configuration: size, magic number, NCCL 2.14, blocking = 0.
    CHECK(opened[k].numbers ==
          std::vector<double>{5, 2.0 + k, 'n', double(sizeof(ncclConfig_t)), double(0xcafebeef), 21400, 0});
    CHECK(device.calls("cudaSetDevice")[k + 1].numbers[0] == (k == 0 ? 4 : 6));
  }
  CHECK(communicator.Close()->error == nullptr);
  CHECK(device.live().empty());
}

TEST_CASE("Opening waits until every rank has left the state of progress") {
  Communicator communicator;
  std::atomic<int> polls{0};
  communicator.device.nccl_state = [&] { return ++polls <= 3 ? ncclInProgress : ncclSuccess; };
  communicator.device.Fail("ncclCommInitRankConfig", ncclInProgress);
  communicator.device.Fail("ncclGroupEnd", ncclInProgress);
  CHECK(communicator.Open()->error == nullptr);
  CHECK(polls > 3);
}

TEST_CASE("An open that fails has the call that failed, and gives everything back") {
  const struct {
    const char* function;
    int succeeding;
    const char* library;
  } cases[] = {{"cudaSetDevice", 0, "cudart"},        {"cudaStreamCreateWithFlags", 0, "cudart"},
               {"ncclGroupStart", 0, "nccl"},         {"cudaSetDevice", 2, "cudart"},
               {"ncclCommInitRankConfig", 0, "nccl"}, {"ncclCommInitRankConfig", 1, "nccl"}};
  for (const auto& [function, succeeding, library] : cases) {
    CAPTURE(function);
    CAPTURE(succeeding);
    Communicator communicator({{0, 1}, 0, 2, {}, 600});
    communicator.device.Fail(function, 5, succeeding);
    const auto opened = communicator.Open();
    REQUIRE(opened->error != nullptr);
    CHECK(opened->error->library == library);
    CHECK(opened->error->call == function);
    CHECK(opened->error->status == 5);
    CHECK(communicator.device.live().empty());
    // Each group that was started was ended.
    const int started = communicator.device.count("ncclGroupStart") - (std::string(function) == "ncclGroupStart");
    CHECK(communicator.device.count("ncclGroupEnd") == started);
  }
}

TEST_CASE("An open whose group ends in an error of NCCL aborts its ranks") {
  for (const bool is_later : {false, true}) {
    CAPTURE(is_later);
    Communicator communicator({{0, 1}, 0, 2, {}, 600});
    if (is_later) {
      // Another rank's failure: NCCL reports it in the state of the communicator.
      communicator.device.nccl_state = [] { return 6; };
    } else {
      communicator.device.Fail("ncclGroupEnd", 6);
    }
    const auto opened = communicator.Open();
    REQUIRE(opened->error != nullptr);
    CHECK(opened->error->call == "ncclCommInitRankConfig");
    CHECK(opened->error->status == 6);
    CHECK(opened->error->detail == "text of NCCL");
    CHECK(communicator.device.count("ncclCommAbort") == 2);
    CHECK(communicator.device.live().empty());
  }
}

TEST_CASE("An operation behind an open that failed is dropped, and its worker is let go") {
  Communicator communicator;
  communicator.device.Fail("ncclCommInitRankConfig", 5);
  CHECK(communicator.Open()->error != nullptr);
  StreamCall call(NcclOperationKind::kReduceOnStream, 1, {3});
  communicator->Post(std::move(call.operation));
  communicator->Stop();
  CHECK_THROWS_AS(call.workers[0].taken.get(), std::future_error);
  CHECK(!communicator.HasSettled());
}

TEST_CASE("An array of the host is reduced on the device in place") {
  Communicator communicator;
  communicator.Open();
  communicator.device.Forget();
  std::vector<float> data{1, 2, 3};
  auto sum = Sum(data);
  sum->reduction = 2;
  CHECK(communicator.Run(std::move(sum))->error == nullptr);
  CHECK(data == std::vector<float>{1, 2, 3});
  const auto reduced = communicator.device.calls("ncclAllReduce");
  REQUIRE(reduced.size() == 1);
  CHECK(reduced[0].numbers == std::vector<double>{3, 7, 2});
  CHECK(reduced[0].pointers[0] == reduced[0].pointers[1]);
  const auto copies = communicator.device.calls("cudaMemcpyAsync");
  REQUIRE(copies.size() == 2);
  CHECK(copies[0].pointers == std::vector<const void*>{reduced[0].pointers[0], data.data()});
  CHECK(copies[1].pointers == std::vector<const void*>{data.data(), reduced[0].pointers[0]});
  CHECK(copies[0].numbers[0] == 12);
}

TEST_CASE("The buffer on the device grows where an array needs more, and shrinks never") {
  Communicator communicator;
  communicator.Open();
  std::vector<double> allocated;
  for (const std::size_t count : {4, 2, 4, 5, 1}) {
    std::vector<float> data(count, 1);
    CHECK(communicator.Run(Sum(data))->error == nullptr);
  }
  for (const auto& call : communicator.device.calls("cudaMalloc")) allocated.push_back(call.numbers[0]);
  CHECK(allocated == std::vector<double>{16, 20});
  CHECK(communicator.device.live()["memory"] == 1);
  CHECK(communicator.device.used == 20);
  communicator.Close();
  CHECK(communicator.device.used == 0);
}

TEST_CASE("A buffer that cannot grow leaves no buffer, and nothing is freed twice") {
  Communicator communicator;
  communicator.Open();
  communicator.device.capacity = 16;
  std::vector<float> few(4, 1);
  std::vector<float> many(5, 1);
  CHECK(communicator.Run(Sum(few))->error == nullptr);
  const auto refused = communicator.Run(Sum(many));
  REQUIRE(refused->error != nullptr);
  CHECK(refused->error->call == "cudaMalloc");
  communicator.Close();
  CHECK(communicator.device.used == 0);
  CHECK(communicator.device.count("cudaFree") == 1);
  CHECK(communicator.device.live().empty());
}

TEST_CASE("A reduction of no elements synchronizes the ranks too") {
  Communicator communicator;
  communicator.Open();
  communicator.device.Forget();
  std::vector<float> none;
  CHECK(communicator.Run(Sum(none))->error == nullptr);
  // One element, which no array has.
  CHECK(communicator.device.calls("ncclAllReduce")[0].numbers[0] == 1);
  CHECK(communicator.device.count("cudaMemsetAsync") == 1);
  CHECK(communicator.device.count("cudaMemcpyAsync") == 0);
}

TEST_CASE("A reduction that fails aborts the communicator: later ones fail without a call") {
  for (const char* function : {"cudaMalloc", "cudaMemcpyAsync", "ncclAllReduce"}) {
    CAPTURE(function);
    Communicator communicator;
    communicator.Open();
    communicator.device.Fail(function, 3);
    std::vector<float> data{1, 2};
    const auto failed = communicator.Run(Sum(data));
    REQUIRE(failed->error != nullptr);
    CHECK(failed->error->call == function);
    CHECK(failed->error->status == 3);
    CHECK(data == std::vector<float>{1, 2});
    CHECK(communicator.device.count("ncclCommAbort") == 1);
    communicator.device.Recover();
    communicator.device.Forget();
    const auto later = communicator.Run(Sum(data));
    REQUIRE(later->error != nullptr);
    CHECK(later->error->name == "ABORTED");
    CHECK(communicator.device.names().empty());
    // Nothing is left to finalize.
    CHECK(communicator.Close()->error == nullptr);
    CHECK(communicator.device.count("ncclCommFinalize") == 0);
    CHECK(communicator.device.count("ncclCommAbort") == 0);
    CHECK(communicator.device.live().empty());
  }
}

TEST_CASE("A reduction fails where the stream fails, or another rank, and leaves the array") {
  for (const bool is_stream : {true, false}) {
    CAPTURE(is_stream);
    Communicator communicator;
    communicator.Open();
    std::atomic<int> state{ncclSuccess};
    communicator.device.nccl_state = [&] { return state.load(); };
    communicator.device.query = [&] {
      if (is_stream) return 700;
      state = 6;
      return int{cudaErrorNotReady};
    };
    std::vector<float> data{1, 2};
    const auto failed = communicator.Run(Sum(data));
    REQUIRE(failed->error != nullptr);
    CHECK(failed->error->call == (is_stream ? "cudaStreamQuery" : "ncclAllReduce"));
    CHECK(failed->error->status == (is_stream ? 700 : 6));
    // Up, and not down.
    CHECK(communicator.device.count("cudaMemcpyAsync") == 1);
    CHECK(communicator.device.live()["communicator"] == 0);
  }
}

TEST_CASE("A reduction that misses its deadline is aborted, with the seconds in the message") {
  Communicator communicator({{0}, 0, 2, {}, 0.002});
  communicator.Open();
  communicator.device.query = [] { return cudaErrorNotReady; };
  std::vector<float> data{1};
  const auto late = communicator.Run(Sum(data));
  REQUIRE(late->error != nullptr);
  CHECK(late->error->name == "TIMEOUT");
  CHECK(late->error->call == "ncclAllReduce");
  CHECK(late->error->detail == "0.002");
  CHECK(communicator.device.count("ncclCommAbort") == 1);
}

TEST_CASE("Stop aborts the reduction under way and drops those behind it") {
  Communicator communicator({{0}, 0, 2, {}, 600});
  communicator.Open();
  std::promise<void> waiting;
  bool is_waiting = false;
  communicator.device.query = [&] {
    if (!is_waiting) waiting.set_value();
    is_waiting = true;
    return cudaErrorNotReady;
  };
  std::vector<float> data{1};
  communicator->Post(Sum(data));
  communicator->Post(Sum(data));
  waiting.get_future().wait();
  communicator->Stop();
  const auto stopped = communicator.Next();
  REQUIRE(stopped->error != nullptr);
  CHECK(stopped->error->name == "ABORTED");
  CHECK(stopped->error->detail == "the process ends");
  CHECK(!communicator.HasSettled());
  CHECK(communicator.device.count("ncclAllReduce") == 1);
  CHECK(communicator.device.live().empty());
  // Idempotent, and the destructor calls it again.
  communicator->Stop();
}

TEST_CASE(
    "A call on streams is one group for the arrays of all devices, and lets the workers go before the devices are "
    "done") {
  for (const bool is_reduction : {true, false}) {
    CAPTURE(is_reduction);
    Communicator communicator({{4, 6}, 0, 2, {}, 600});
    communicator.Open();
    communicator.device.Forget();
    std::atomic<bool> is_done{false};
    communicator.device.query = [&] { return is_done ? 0 : int{cudaErrorNotReady}; };
    StreamCall call(is_reduction ? NcclOperationKind::kReduceOnStream : NcclOperationKind::kBroadcastOnStream, 2,
                    {3, 5});
    call.operation->reduction = 4;
    call.operation->root = 1;
    float arrays[2][2][5];
    communicator->Post(std::move(call.operation));
    for (std::size_t k = 0; k < 2; k++) call.Arrive(k, {arrays[k][0], arrays[k][1]});
    for (WorkerEnd& worker : call.workers) CHECK(worker.taken.get() == nullptr);
    CHECK(!communicator.HasSettled());
    is_done = true;
    CHECK(communicator.Next()->error == nullptr);
    const char* const name = is_reduction ? "ncclAllReduce" : "ncclBroadcast";
    CHECK(communicator.device.names() == Names{"cudaSetDevice", "cudaEventCreateWithFlags", "cudaSetDevice",
                                               "cudaEventCreateWithFlags", "ncclGroupStart", "cudaSetDevice", name,
                                               name, "cudaSetDevice", name, name, "ncclGroupEnd", "cudaSetDevice",
                                               "cudaEventRecord", "cudaSetDevice", "cudaEventRecord"});
    const auto calls = communicator.device.calls(name);
    for (std::size_t k = 0; k < calls.size(); k++) {
      CHECK(calls[k].numbers == std::vector<double>{k % 2 == 0 ? 3.0 : 5.0, 7, is_reduction ? 4.0 : 1.0});
      CHECK(calls[k].pointers == std::vector<const void*>{arrays[k / 2][k % 2], arrays[k / 2][k % 2]});
    }
    // The events serve the next call.
    communicator.device.Forget();
    StreamCall next(NcclOperationKind::kReduceOnStream, 2, {});
    communicator->Post(std::move(next.operation));
    next.Arrive(0, {});
    next.Arrive(1, {});
    CHECK(communicator.Next()->error == nullptr);
    CHECK(communicator.device.count("cudaEventCreateWithFlags") == 0);
    communicator.Close();
    CHECK(communicator.device.live().empty());
  }
}

TEST_CASE("Arrays that could not be computed fail the call; where a rank is elsewhere they abort the communicator") {
  for (const int size : {2, 3}) {
    CAPTURE(size);
    Communicator communicator({{4, 6}, 0, size, {}, 600});
    communicator.Open();
    StreamCall call(NcclOperationKind::kReduceOnStream, 2, {1});
    const ErrorRef error = ErrorNamed("of a kernel");
    float array = 1;
    communicator->Post(std::move(call.operation));
    call.Arrive(0, {&array});
    call.Arrive(1, {&array}, error);
    const auto failed = communicator.Next();
    REQUIRE(failed->error != nullptr);
    CHECK(failed->error->name == "of a kernel");
    for (WorkerEnd& worker : call.workers) CHECK(worker.taken.get()->name == "of a kernel");
    CHECK(communicator.device.count("ncclAllReduce") == 0);
    // A rank elsewhere would wait for this one.
    CHECK(communicator.device.count("ncclCommAbort") == (size == 2 ? 0 : 2));
    StreamCall next(NcclOperationKind::kReduceOnStream, 2, {1});
    communicator->Post(std::move(next.operation));
    next.Arrive(0, {&array});
    next.Arrive(1, {&array});
    CHECK((communicator.Next()->error == nullptr) == (size == 2));
    for (WorkerEnd& worker : next.workers) CHECK((worker.taken.get() == nullptr) == (size == 2));
  }
}

TEST_CASE("A worker whose session closed before the call fails it with that reason") {
  Communicator communicator({{4, 6}, 0, 2, {}, 600});
  communicator.Open();
  StreamCall call(NcclOperationKind::kBroadcastOnStream, 2, {1});
  float array = 1;
  call.Arrive(0, {&array});
  // Its promise is broken.
  {
    const WorkerEnd dropped = std::move(call.workers[1]);
  }
  const auto failed = communicator.Run(std::move(call.operation));
  REQUIRE(failed->error != nullptr);
  CHECK(failed->error->name == "SESSION_CLOSED");
  CHECK(failed->error->call == "ncclBroadcast");
  CHECK(call.workers[0].taken.get()->name == "SESSION_CLOSED");
}

TEST_CASE("A call on streams that fails lets every worker go with its error, once") {
  const struct {
    const char* function;
    int succeeding;
    const char* call;
  } cases[] = {{"cudaEventCreateWithFlags", 1, "cudaEventCreateWithFlags"},
               {"ncclGroupStart", 1, "ncclGroupStart"},
               {"ncclAllReduce", 1, "ncclAllReduce"},
               // The group of the open was the first.
               {"ncclGroupEnd", 1, "ncclAllReduce"},
               {"cudaEventRecord", 1, "cudaEventRecord"}};
  for (const auto& [function, succeeding, call_name] : cases) {
    CAPTURE(function);
    Communicator communicator({{4, 6}, 0, 2, {}, 600});
    communicator.device.Fail(function, 5, succeeding);
    REQUIRE(communicator.Open()->error == nullptr);
    StreamCall call(NcclOperationKind::kReduceOnStream, 2, {1});
    float array = 1;
    communicator->Post(std::move(call.operation));
    for (std::size_t k = 0; k < 2; k++) call.Arrive(k, {&array});
    const auto failed = communicator.Next();
    REQUIRE(failed->error != nullptr);
    CHECK(failed->error->call == call_name);
    for (WorkerEnd& worker : call.workers) CHECK(worker.taken.get() == failed->error);
    CHECK(communicator.device.count("ncclCommAbort") == 2);
    communicator.Close();
    CHECK(communicator.device.live().empty());
  }
}

TEST_CASE("A failure behind the accepted call is the error of the call, and of no worker") {
  Communicator communicator({{4, 6}, 0, 2, {}, 600});
  communicator.Open();
  communicator.device.query = [] { return 719; };
  StreamCall call(NcclOperationKind::kReduceOnStream, 2, {1});
  float array = 1;
  for (std::size_t k = 0; k < 2; k++) call.Arrive(k, {&array});
  const auto failed = communicator.Run(std::move(call.operation));
  REQUIRE(failed->error != nullptr);
  CHECK(failed->error->call == "cudaEventQuery");
  for (WorkerEnd& worker : call.workers) CHECK(worker.taken.get() == nullptr);
}

TEST_CASE("A worker that never reaches the call is named by the deadline") {
  Communicator communicator({{4}, 0, 1, {}, 0.002});
  communicator.Open();
  StreamCall call(NcclOperationKind::kReduceOnStream, 1, {1});
  const auto late = communicator.Run(std::move(call.operation));
  REQUIRE(late->error != nullptr);
  CHECK(late->error->name == "TIMEOUT");
  CHECK(call.workers[0].taken.get() == late->error);
}

TEST_CASE("Close finalizes all ranks as one group before it destroys them") {
  Communicator communicator({{4, 6}, 0, 2, {}, 600});
  communicator.Open();
  communicator.device.Forget();
  CHECK(communicator.Close()->error == nullptr);
  CHECK(communicator.device.names() == Names{"ncclGroupStart", "cudaSetDevice", "ncclCommFinalize", "cudaSetDevice",
                                             "ncclCommFinalize", "ncclGroupEnd", "ncclCommDestroy", "ncclCommDestroy",
                                             "cudaStreamDestroy"});
  // The thread has ended: an operation behind the close is dropped.
  StreamCall call(NcclOperationKind::kReduceOnStream, 2, {1});
  communicator->Post(std::move(call.operation));
  communicator->Stop();
  CHECK_THROWS_AS(call.workers[0].taken.get(), std::future_error);
}

TEST_CASE("A rank that cannot be finalized is aborted; one that cannot be destroyed is left") {
  for (const bool is_finalized : {false, true}) {
    CAPTURE(is_finalized);
    Communicator communicator({{4, 6}, 0, 2, {}, 600});
    communicator.Open();
    const char* const function = is_finalized ? "ncclCommDestroy" : "ncclCommFinalize";
    communicator.device.Fail(function, 3);
    const auto closed = communicator.Close();
    REQUIRE(closed->error != nullptr);
    CHECK(closed->error->call == function);
    CHECK(closed->error->status == 3);
    CHECK(communicator.device.count("ncclCommAbort") == (is_finalized ? 0 : 2));
    CHECK(communicator.device.count("ncclCommDestroy") == (is_finalized ? 2 : 0));
    CHECK(communicator.device.live()["stream"] == 0);
  }
}

}  // namespace
}  // namespace cudnn_rnn
