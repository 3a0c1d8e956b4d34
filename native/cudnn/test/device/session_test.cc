#include "device/session.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "device_session.h"
#include "host_device.h"

namespace cudnn_rnn {
namespace {

/// Holds the functions of the table that wait for an event until a test opens it. One for the process, as the functions
/// of a table have no state.
class Gate {
 public:
  void Shut() {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
    arrivals_ = 0;
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    arrivals_++;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
  }
  void AwaitArrival() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrivals_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  int arrivals_ = 0;
};

Gate gate;

std::unique_ptr<Batch> Settling() {
  auto batch = std::make_unique<Batch>();
  batch->settlement = std::make_shared<int>();
  return batch;
}

/// A session over a HostDevice, and the batches that it settles in their order.
class OpenSession {
 public:
  ~OpenSession() { gate.Open(); }

  /// Starts the session, after the test has changed the device.
  std::unique_ptr<Batch> Start() {
    session_.emplace(std::make_shared<Libraries>(device.libraries), 0, [this](std::unique_ptr<Batch> batch) {
      const std::lock_guard lock(mutex_);
      if (batch == nullptr) ends_++;
      if (batch != nullptr) settled_.push_back(std::move(batch));
      changed_.notify_one();
    });
    session_->Start(Settling());
    return Next();
  }
  /// The batch that settles next.
  std::unique_ptr<Batch> Next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !settled_.empty(); });
    auto batch = std::move(settled_.front());
    settled_.pop_front();
    return batch;
  }
  bool Post(std::unique_ptr<Batch> batch, bool is_exclusive = false) { return session_->Post(batch, is_exclusive); }
  std::unique_ptr<Batch> Run(std::unique_ptr<Batch> batch) {
    REQUIRE(Post(std::move(batch)));
    return Next();
  }
  bool HasSettled() {
    const std::lock_guard lock(mutex_);
    return !settled_.empty();
  }
  int ends() {
    const std::lock_guard lock(mutex_);
    return ends_;
  }
  Session* operator->() { return &*session_; }

  /// Allocates buffer `id`, fills it with `value`, and downloads it to `target` if there is one.
  std::unique_ptr<Batch> RoundTrip(Id id, float value, std::vector<float>* target) {
    BatchWords words;
    words.Segment().Allocate(id, sizeof value);
    words.Add(Opcode::kUpload, {words.Slot(id), 0, words.Source<float>(session_->host_blocks(), {value})});
    if (target != nullptr) words.Add(Opcode::kDownload, {words.Slot(id), 0, words.Target(*target)});
    words.Release(id);
    auto batch = std::make_unique<Batch>(std::move(words.batch()));
    batch->settlement = std::make_shared<int>();
    return batch;
  }

  HostDevice device;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Batch>> settled_;
  int ends_ = 0;
  std::optional<Session> session_;
};

/// A device whose events complete when the gate opens.
void HoldEvents(HostDevice& device) {
  gate.Shut();
  static int (*wait)(cudaEvent_t) = nullptr;
  wait = device.libraries.cudart.cudaEventSynchronize;
  device.libraries.cudart.cudaEventSynchronize = [](cudaEvent_t event) {
    gate.Pass();
    return wait(event);
  };
}

TEST_CASE("A session opens, settles batches in their order, and gives everything back at its end") {
  OpenSession session;
  const auto opened = session.Start();
  CHECK(opened->error == nullptr);
  CHECK(session->info().name == "Host device");
  std::vector<std::vector<float>> targets(20, std::vector<float>(1, -1));
  for (std::size_t k = 0; k < targets.size(); k++) {
    CHECK(session.Post(session.RoundTrip(static_cast<Id>(k) + 1, static_cast<float>(k), &targets[k])));
  }
  for (std::size_t k = 0; k < targets.size(); k++) {
    CHECK(session.Next()->error == nullptr);
    CHECK(targets[k] == std::vector<float>{static_cast<float>(k)});
  }
  CHECK(session.ends() == 0);
  session->Close();
  session->Close();
  CHECK(session.ends() == 1);
  CHECK(session.device.live().empty());
}

TEST_CASE("A session that was never started closes") {
  HostDevice device;
  int settled = 0;
  {
    Session session(std::make_shared<Libraries>(device.libraries), 0, [&](std::unique_ptr<Batch>) { settled++; });
    session.Close();
    CHECK(session.closed());
  }
  CHECK(settled == 0);
  CHECK(device.names().empty());
}

TEST_CASE("A device that does not open settles the first batch and every other with the call, and runs none") {
  // The thread that waits for events, or the worker, calls cudaSetDevice second.
  const struct {
    const char* function;
    int succeeding;
  } cases[] = {{"cudaSetDevice", 0}, {"cudaSetDevice", 1}, {"cudaStreamCreateWithFlags", 0}, {"cudnnCreate", 0}};
  for (const auto& [function, succeeding] : cases) {
    CAPTURE(function);
    CAPTURE(succeeding);
    OpenSession session;
    session.device.Fail(function, 3, succeeding);
    const auto opened = session.Start();
    REQUIRE(opened->error != nullptr);
    CHECK(opened->error->call == function);
    CHECK(opened->error->status == 3);
    std::vector<float> target{-1};
    session.Post(session.RoundTrip(1, 5, &target));
    CHECK(session.Next()->error == opened->error);
    session->Close();
    CHECK(target == std::vector<float>{-1});
    CHECK(session.device.count("cudaMemcpyAsync") == 0);
    CHECK(session.device.live().empty());
  }
}

TEST_CASE("A download settles when the device is done, and its array is not written before") {
  OpenSession session;
  HoldEvents(session.device);
  session.Start();
  std::vector<float> target{-1};
  session.Post(session.RoundTrip(1, 5, &target));
  gate.AwaitArrival();
  CHECK(!session.HasSettled());
  CHECK(target == std::vector<float>{-1});
  gate.Open();
  CHECK(session.Next()->error == nullptr);
  CHECK(target == std::vector<float>{5});
}

TEST_CASE("An upload settles when it is queued; one that waits settles when the device is done") {
  OpenSession session;
  HoldEvents(session.device);
  session.Start();
  CHECK(session.Run(session.RoundTrip(1, 5, nullptr))->error == nullptr);
  gate.AwaitArrival();
  auto waits = session.RoundTrip(2, 6, nullptr);
  waits->waits = true;
  session.Post(std::move(waits));
  // Nothing is copied, so nothing is waited for.
  auto third = Settling();
  session.Post(std::move(third));
  const auto first = session.Next();
  CHECK(!first->waits);
  CHECK(!session.HasSettled());
  gate.Open();
  CHECK(session.Next()->waits);
}

TEST_CASE("The page-locked memory of an upload serves no other until the device has read it") {
  OpenSession session;
  HoldEvents(session.device);
  session.Start();
  // The pool has a block afterwards.
  session.Run(session.RoundTrip(1, 5, nullptr));
  session.Run(session.RoundTrip(2, 6, nullptr));
  session.Run(session.RoundTrip(3, 7, nullptr));
  std::set<const void*> blocks;
  for (const auto& call : session.device.calls("cudaMemcpyAsync")) blocks.insert(call.pointers[1]);
  CHECK(blocks.size() == 3);
  gate.Open();
}

TEST_CASE("Where no event can be had the stream is waited for, and the download arrives") {
  for (const char* function : {"cudaEventCreateWithFlags", "cudaEventRecord"}) {
    CAPTURE(function);
    OpenSession session;
    session.Start();
    session.device.Fail(function, 2);
    const int before = session.device.live()["event"];
    std::vector<float> target{-1};
    CHECK(session.Run(session.RoundTrip(1, 5, &target))->error == nullptr);
    CHECK(target == std::vector<float>{5});
    CHECK(session.device.count("cudaStreamSynchronize") == 1);
    // The failure is cleared: a later call must not report it.
    CHECK(session.device.count("cudaGetLastError") > 0);
    CHECK(session.device.live()["event"] == before);
    // And if the stream fails too, the array is left.
    session.device.Fail("cudaStreamSynchronize", 700);
    target = {-1};
    const auto failed = session.Run(session.RoundTrip(1, 6, &target));
    REQUIRE(failed->error != nullptr);
    CHECK(failed->error->call == "cudaStreamSynchronize");
    CHECK(failed->error->status == 700);
    CHECK(target == std::vector<float>{-1});
  }
}

TEST_CASE("A wait for the device that fails is the error of its batch, which leaves the array and destroys the event") {
  OpenSession session;
  session.Start();
  const int before = session.device.live()["event"];
  session.device.Fail("cudaEventSynchronize", 700);
  std::vector<float> target{-1};
  const auto failed = session.Run(session.RoundTrip(1, 5, &target));
  REQUIRE(failed->error != nullptr);
  CHECK(failed->error->call == "cudaEventSynchronize");
  CHECK(failed->error->status == 700);
  CHECK(target == std::vector<float>{-1});
  // Only an idle stream makes it safe to use the memory of the copy again.
  CHECK(session.device.count("cudaStreamSynchronize") == 1);
  CHECK(session.device.live()["event"] == before);
  session.device.Recover();
  CHECK(session.Run(session.RoundTrip(1, 6, &target))->error == nullptr);
  CHECK(target == std::vector<float>{6});
}

TEST_CASE("A batch that fails settles with its error and leaves its array, and the next one runs") {
  OpenSession session;
  session.Start();
  session.device.Fail("cudaMemcpyAsync", 1, 1);
  std::vector<float> target{-1};
  const auto failed = session.Run(session.RoundTrip(1, 5, &target));
  REQUIRE(failed->error != nullptr);
  CHECK(failed->error->call == "cudaMemcpyAsync");
  CHECK(target == std::vector<float>{-1});
  session.device.Recover();
  CHECK(session.Run(session.RoundTrip(1, 6, &target))->error == nullptr);
  CHECK(target == std::vector<float>{6});
  session->Close();
  CHECK(session.device.live().empty());
}

TEST_CASE("Closing settles batches that have not begun as refused, and lets the one under way end") {
  OpenSession session;
  static int (*copy)(void*, const void*, std::size_t, int, cudaStream_t) = nullptr;
  copy = session.device.libraries.cudart.cudaMemcpyAsync;
  session.device.libraries.cudart.cudaMemcpyAsync = [](void* to, const void* from, std::size_t bytes, int kind,
                                                       cudaStream_t stream) {
    gate.Pass();
    return copy(to, from, bytes, kind, stream);
  };
  session.Start();
  gate.Shut();
  std::vector<float> first{-1};
  std::vector<float> second{-1};
  session.Post(session.RoundTrip(1, 5, &first));
  gate.AwaitArrival();
  session.Post(session.RoundTrip(2, 6, &second));
  session->BeginClose();
  CHECK(session->closed());
  // The queued one settles on this thread, while the other is under way.
  REQUIRE(session.HasSettled());
  const auto refused = session.Next();
  REQUIRE(refused->error != nullptr);
  CHECK(refused->error->name == "SESSION_CLOSED");
  CHECK(!session.HasSettled());
  // A later batch is left to its caller.
  auto late = Settling();
  CHECK(!session->Post(late, false));
  CHECK(late != nullptr);
  gate.Open();
  CHECK(session.Next()->error == nullptr);
  session->Close();
  CHECK(first == std::vector<float>{5});
  CHECK(second == std::vector<float>{-1});
  CHECK(session.ends() == 1);
  CHECK(session.device.live().empty());
}

TEST_CASE("The end of a session settles after the batches that its closing drops") {
  HostDevice device;
  std::mutex mutex;
  std::vector<bool> is_end;
  Session session(std::make_shared<Libraries>(device.libraries), 0, [&](std::unique_ptr<Batch> batch) {
    // Time in which a worker that waited for nothing would end.
    if (batch != nullptr && batch->error) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::lock_guard lock(mutex);
    is_end.push_back(batch == nullptr);
  });
  session.Start(Settling());
  auto begin = Settling();
  begin->begins_exclusive = true;
  CHECK(session.Post(begin, false));
  auto held_back = Settling();
  CHECK(session.Post(held_back, false));
  session.Close();
  CHECK(is_end == std::vector<bool>{false, false, false, true});
}

TEST_CASE("Closing waits for the downloads of batches that ran") {
  OpenSession session;
  HoldEvents(session.device);
  session.Start();
  std::vector<float> target{-1};
  session.Post(session.RoundTrip(1, 5, &target));
  gate.AwaitArrival();
  session->BeginClose();
  CHECK(session.ends() == 0);
  CHECK(session.device.live()["stream"] > 0);
  gate.Open();
  session->Close();
  CHECK(session.Next()->error == nullptr);
  CHECK(target == std::vector<float>{5});
  CHECK(session.device.live().empty());
}

TEST_CASE("An exclusive section holds other batches back until it ends; one that fails to begin holds nothing") {
  for (const bool fails : {false, true}) {
    CAPTURE(fails);
    OpenSession session;
    session.Start();
    BatchWords words;
    // A buffer that does not exist.
    if (fails) words.Segment().Add(Opcode::kClear, {words.Slot(77), 0, 4});
    auto begin = std::make_unique<Batch>(std::move(words.batch()));
    begin->settlement = std::make_shared<int>();
    begin->begins_exclusive = true;
    CHECK((session.Run(std::move(begin))->error != nullptr) == fails);
    std::vector<float> target{-1};
    session.Post(session.RoundTrip(1, 5, &target));
    if (!fails) {
      auto inside = Settling();
      inside->is_timed = true;
      session.Post(std::move(inside), true);
      // The batch of the section settles first, though it was posted last.
      CHECK(session.Next()->is_timed);
      CHECK(target == std::vector<float>{-1});
      auto end = Settling();
      end->ends_exclusive = true;
      session.Post(std::move(end), true);
      CHECK(session.Next()->ends_exclusive);
    }
    CHECK(session.Next()->error == nullptr);
    CHECK(target == std::vector<float>{5});
  }
}

}  // namespace
}  // namespace cudnn_rnn
