#include "threads/shared_loops.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "threads/thread_pool.h"

namespace cudnn_rnn {
namespace {

TEST_CASE("SharedLoops runs every item of every loop once, and one loop after another") {
  constexpr int kLoops = 2000;
  constexpr int kItems = 7;
  for (const int threads : {1, 2, 3, 5}) {
    CAPTURE(threads);
    ThreadPool pool(threads);
    SharedLoops loops(threads);
    // Not atomic: ThreadSanitizer reports a race if items of two loops overlap in time.
    std::vector<int> counts(kItems, 0);
    std::atomic<bool> in_order{true};
    pool.Run(threads, [&](int index) {
      SharedLoops::Member member(&loops, index);
      for (int loop = 0; loop < kLoops; loop++) {
        member.Run(kItems, [&](ptrdiff_t item) {
          if (counts[item] != loop) in_order = false;
          counts[item]++;
        });
        member.Run(kItems, [&](ptrdiff_t item) {
          if (counts[kItems - 1 - item] != loop + 1) in_order = false;
        });
      }
    });
    CHECK(in_order);
    for (const int count : counts) CHECK(count == kLoops);
  }
}

TEST_CASE("SharedLoops::Member does the items of a thread that never arrives") {
  SharedLoops loops(2);
  SharedLoops::Member member(&loops, 0);
  int done = 0;
  for (int loop = 0; loop < 100; loop++) member.Run(10, [&](ptrdiff_t) { done++; });
  CHECK(done == 1000);
}

TEST_CASE("SharedLoops::Member passes loops without items, and runs backwards from the last item") {
  SharedLoops loops(1);
  SharedLoops::Member member(&loops, 0);
  std::vector<ptrdiff_t> order;
  member.Run(0, [&](ptrdiff_t item) { order.push_back(item); });
  member.Run(3, [&](ptrdiff_t item) { order.push_back(item); }, true);
  CHECK(order == std::vector<ptrdiff_t>{2, 1, 0});
}

TEST_CASE("SharedLoops runs every item once where a thread yields to one that comes late, or never comes") {
  SharedLoops loops(2);
  SharedLoops::Member member(&loops, 0);
  int done = 0;
  // Each loop takes longer than the time after which the present thread first yields to the absent one.
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::nanoseconds(YieldSchedule::kFirstInterval)); };
  for (int loop = 0; loop < 4; loop++) {
    member.Run(2, [&](ptrdiff_t) {
      done++;
      wait();
    });
  }
  CHECK(done == 8);
  // The late thread finds these loops finished.
  SharedLoops::Member late(&loops, 1);
  for (int loop = 0; loop < 4; loop++) late.Run(2, [&](ptrdiff_t) { done++; });
  CHECK(done == 8);
}

TEST_CASE("SharedLoops::Reset lets new members begin with the first loop") {
  SharedLoops loops(1);
  for (int round = 0; round < 3; round++) {
    int done = 0;
    SharedLoops::Member member(&loops, 0);
    member.Run(4, [&](ptrdiff_t) { done++; });
    CHECK(done == 4);
    loops.Reset(1);
  }
}

}  // namespace
}  // namespace cudnn_rnn
