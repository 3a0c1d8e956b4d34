#include "threads/thread_pool.h"

#include <doctest/doctest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include "threads/shared_loops.h"

namespace cudnn_rnn {
namespace {

TEST_CASE("ThreadPool serves several callers, each with all of its items") {
  ThreadPool pool(3);
  std::atomic<int> done{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; caller++) {
    callers.emplace_back([&] {
      for (int call = 0; call < 300; call++) {
        SharedLoops loops(3);
        const auto work = [&](int index) {
          SharedLoops::Member member(&loops, index);
          member.Run(5, [&](ptrdiff_t) { done++; });
        };
        // RunOrAlone computes on the calling thread while another caller has the pool.
        if (call % 2 == 0) {
          pool.Run(3, work);
        } else {
          pool.RunOrAlone(3, work);
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(done == 4 * 300 * 5);
}

TEST_CASE("ThreadPool::Run calls work 0 on the calling thread and nothing after it returned") {
  ThreadPool pool(4);
  for (int call = 0; call < 100; call++) {
    std::atomic<int> running{0};
    std::thread::id zero;
    pool.Run(4, [&](int index) {
      running++;
      if (index == 0) zero = std::this_thread::get_id();
      running--;
    });
    CHECK(zero == std::this_thread::get_id());
    CHECK(running == 0);
  }
}

TEST_CASE("ThreadPool::barrier_ns is 0 for one thread, positive for several, and never rises once it is measured") {
  CHECK(ThreadPool(1).barrier_ns() == 0);
  ThreadPool pool(2);
  CHECK(pool.barrier_ns() > 0);
  const auto call = [&] { pool.Run(2, [](int) {}); };
  // A first measurement without all threads leaves an assumption, which the next one may exceed.
  for (int k = 0; k < 5000; k++) call();
  double before = pool.barrier_ns();
  for (int k = 0; k < 5000; k++) {
    call();
    CHECK(pool.barrier_ns() <= before);
    before = pool.barrier_ns();
  }
}

std::atomic<int64_t> fake_now{0};
// By which every reading of the clock is later than the one before.
std::atomic<int64_t> fake_step{0};

TEST_CASE("ThreadPool that was opened on a busy machine measures again when its schedule's time has passed") {
  fake_step = 1'000'000;
  ThreadPool pool(2, [] { return fake_now += fake_step; });
  const double busy = pool.barrier_ns();
  fake_step = 0;
  for (int k = 0; k < 1000; k++) pool.Run(1, [](int) {});
  CHECK(pool.barrier_ns() == busy);
  fake_step = 10;
  // Calls on one thread, during which the other one sleeps. On a loaded machine a measurement may end before it is
  // awake.
  int calls = 0;
  for (; pool.barrier_ns() >= busy && calls < 100'000; calls++) {
    fake_now += 2 * MeasurementSchedule::kLongestInterval;
    pool.Run(1, [](int) {});
  }
  CHECK(calls < 100'000);
  CHECK(pool.barrier_ns() < 10);
}

TEST_CASE("MeasurementSchedule doubles its interval up to a longest one, and weighs the time of a measurement") {
  constexpr int64_t kFirst = MeasurementSchedule::kFirstInterval;
  MeasurementSchedule schedule;
  CHECK(schedule.IsDue(0));
  schedule.Measured(0, 0);
  CHECK(!schedule.IsDue(kFirst - 1));
  CHECK(schedule.IsDue(kFirst));
  schedule.Measured(kFirst, kFirst);
  CHECK(!schedule.IsDue(3 * kFirst - 1));
  CHECK(schedule.IsDue(3 * kFirst));
  // A tenth of the interval that follows, 4 kFirst: the share makes it ten times as long.
  const int64_t took = 4 * kFirst / 10;
  schedule.Measured(0, took);
  CHECK(!schedule.IsDue(took + 40 * kFirst - 1));
  CHECK(schedule.IsDue(took + 40 * kFirst));
  for (int k = 0; k < 40; k++) schedule.Measured(0, 0);
  CHECK(!schedule.IsDue(MeasurementSchedule::kLongestInterval - 1));
  CHECK(schedule.IsDue(MeasurementSchedule::kLongestInterval));
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST_CASE("ThreadPool::Run flushes denormals and restores the caller's mode") {
  ThreadPool pool(1);
  volatile float smallest = std::numeric_limits<float>::denorm_min();
  volatile float one = 1;
  volatile float inside = 1;
  pool.Run(1, [&](int) { inside = smallest * one; });
  CHECK(inside == 0.0f);
  volatile float outside = smallest * one;
  CHECK(outside != 0.0f);
}
#endif

}  // namespace
}  // namespace cudnn_rnn
