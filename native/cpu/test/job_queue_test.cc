#include "threads/job_queue.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cudnn_rnn {
namespace {

TEST_CASE("JobQueue runs jobs in the order of their numbers and notifies of an awaited one") {
  std::atomic<int> notified{0};
  std::vector<int> order;
  JobQueue queue([&] { notified++; });
  uint64_t last = 0;
  for (int k = 0; k < 1000; k++) last = queue.Push([&order, k] { order.push_back(k); });
  CHECK(last == 1000);
  queue.Await(last);
  queue.Wait(last);
  queue.Stop();
  CHECK(queue.completed() == last);
  REQUIRE(order.size() == 1000);
  for (int k = 0; k < 1000; k++) CHECK(order[k] == k);
  CHECK(notified > 0);
}

TEST_CASE("JobQueue stores the error of a job and runs the next job") {
  JobQueue queue([] {});
  const uint64_t failed = queue.Push([] { throw std::runtime_error("on purpose"); });
  const uint64_t exhausted = queue.Push([] { throw std::bad_alloc(); });
  const uint64_t good = queue.Push([] {});
  queue.Wait(good);
  CHECK(queue.FailureOf(failed).message == "on purpose");
  CHECK_FALSE(queue.FailureOf(failed).is_out_of_memory);
  CHECK(queue.FailureOf(exhausted).is_out_of_memory);
  CHECK(queue.FailureOf(good).message.empty());
}

TEST_CASE("JobQueue::RunOrPush runs immediately where nothing is queued, and in order elsewhere") {
  JobQueue queue([] {});
  bool ran = false;
  CHECK(queue.RunOrPush([&] { ran = true; }) == 0);
  CHECK(ran);
  CHECK(queue.completed() == 1);
  const uint64_t failed = queue.RunOrPush([] { throw std::runtime_error("at once"); });
  CHECK(queue.FailureOf(failed).message == "at once");

  std::atomic<bool> released{false};
  queue.Push([&] {
    while (!released) std::this_thread::yield();
  });
  std::atomic<bool> waited{false};
  const uint64_t behind = queue.RunOrPush([&] { waited = released.load(); });
  released = true;
  queue.Wait(behind);
  CHECK(waited);
}

TEST_CASE("JobQueue::Stop drops queued jobs") {
  std::atomic<int> done{0};
  JobQueue queue([] {});
  for (int k = 0; k < 100; k++) {
    queue.Push([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      done++;
    });
  }
  queue.Stop();
  CHECK(queue.canceled());
  CHECK(done < 100);
  queue.Stop();  // idempotent
}

}  // namespace
}  // namespace cudnn_rnn
