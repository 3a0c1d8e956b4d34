#include "device/command_queue.h"

#include <doctest/doctest.h>

#include <future>
#include <thread>

#include "host_device.h"

namespace cudnn_rnn {
namespace {

/// A batch that a test recognizes by its number.
std::unique_ptr<Batch> Numbered(double number) {
  auto batch = std::make_unique<Batch>();
  batch->words = {number};
  return batch;
}

double NumberOf(const std::unique_ptr<Batch>& batch) { return batch == nullptr ? -1 : batch->words.at(0); }

void Post(CommandQueue& queue, double number, bool is_exclusive = false) {
  auto batch = Numbered(number);
  CHECK(queue.Post(batch, is_exclusive));
  CHECK(batch == nullptr);
}

bool IsReady(const std::future<double>& future) {
  return future.wait_for(std::chrono::milliseconds(20)) == std::future_status::ready;
}

TEST_CASE("CommandQueue hands batches out in their order") {
  CommandQueue queue;
  for (int k = 0; k < 5; k++) Post(queue, k);
  for (int k = 0; k < 5; k++) CHECK(NumberOf(queue.Next()) == k);
}

TEST_CASE("CommandQueue hands out exclusive batches alone during an exclusive section, and the others after it") {
  CommandQueue queue;
  Post(queue, 1);
  queue.SetExclusive(true);
  Post(queue, 2);
  Post(queue, 10, true);
  Post(queue, 11, true);
  CHECK(NumberOf(queue.Next()) == 10);
  CHECK(NumberOf(queue.Next()) == 11);
  // Only the next exclusive batch ends this wait.
  auto next = std::async(std::launch::async, [&] { return NumberOf(queue.Next()); });
  CHECK(!IsReady(next));
  Post(queue, 3);
  CHECK(!IsReady(next));
  Post(queue, 12, true);
  CHECK(next.get() == 12);
  queue.SetExclusive(false);
  for (const int expected : {1, 2, 3}) CHECK(NumberOf(queue.Next()) == expected);
}

TEST_CASE("CommandQueue runs an exclusive batch that is left over after its section first") {
  CommandQueue queue;
  Post(queue, 1);
  Post(queue, 10, true);
  CHECK(NumberOf(queue.Next()) == 10);
  CHECK(NumberOf(queue.Next()) == 1);
}

TEST_CASE("CommandQueue::Close returns the batches that have not begun, without their host memory, and ends the wait") {
  HostDevice device;
  HostBlockPool pool(device.libraries);
  CommandQueue queue;
  auto batch = Numbered(1);
  batch->sources.push_back({pool.Take(100), 100});
  void* memory = batch->sources[0].block->data;
  CHECK(queue.Post(batch, false));
  Post(queue, 2);
  Post(queue, 10, true);
  const auto dropped = queue.Close();
  std::vector<double> numbers;
  for (const auto& each : dropped) {
    numbers.push_back(NumberOf(each));
    CHECK(each->sources.empty());
  }
  CHECK(numbers == std::vector<double>{10, 1, 2});
  CHECK(pool.Take(100)->data == memory);
  CHECK(queue.Next() == nullptr);
  // A second close has nothing to drop.
  CHECK(queue.Close().empty());
}

TEST_CASE("CommandQueue::Close wakes the worker, and a later post leaves the batch to its caller") {
  CommandQueue queue;
  auto next = std::async(std::launch::async, [&] { return NumberOf(queue.Next()); });
  CHECK(!IsReady(next));
  queue.Close();
  CHECK(next.get() == -1);
  for (const bool is_exclusive : {false, true}) {
    auto batch = Numbered(7);
    CHECK(!queue.Post(batch, is_exclusive));
    CHECK(NumberOf(batch) == 7);
  }
}

}  // namespace
}  // namespace cudnn_rnn
