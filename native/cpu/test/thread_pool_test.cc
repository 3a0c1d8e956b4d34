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

TEST_CASE("ThreadPool::meeting_ns is 0 for one thread, positive for several, and never rises once it is measured") {
  CHECK(ThreadPool(1).meeting_ns() == 0);
  ThreadPool pool(2);
  CHECK(pool.meeting_ns() > 0);
  // The first call of which a measurement follows is the 16th.
  const auto call = [&] { pool.Run(2, [](int) {}); };
  for (int k = 0; k < 16; k++) call();
  double before = pool.meeting_ns();
  for (int k = 0; k < 5000; k++) {
    call();
    CHECK(pool.meeting_ns() <= before);
    before = pool.meeting_ns();
  }
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
