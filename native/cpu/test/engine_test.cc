#include "threads/engine.h"

#include <doctest/doctest.h>

#include <atomic>
#include <limits>

#include "kernels/instruction_sets.h"

namespace cudnn_rnn {
namespace {

// Every reading is later than the one before, so a barrier takes time on every machine.
std::atomic<int64_t> clock_now{0};
int64_t RisingClock() { return clock_now += 1000; }

// Threads for a step that one thread computes in `barriers` times the barrier of the pool.
int MembersOf(const ThreadPool& pool, double barriers, double loops = 1) {
  KernelTable<float> kernels = kPortableKernels.f32;
  // Not 1, so that a time without the rate is another one.
  kernels.operations_per_ns = 8;
  return MembersFor(pool, kernels, barriers * pool.barrier_ns() * kernels.operations_per_ns, loops);
}

// The time of m threads of n is w/m + (m - 1)/(n - 1), in barriers: two gain if w/2 > 1.
TEST_CASE("MembersFor takes a second thread where it saves more than a barrier") {
  ThreadPool pool(2, RisingClock);
  REQUIRE(pool.barrier_ns() > 0);
  CHECK(MembersOf(pool, 0) == 1);
  CHECK(MembersOf(pool, 1.9) == 1);
  CHECK(MembersOf(pool, 2.1) == 2);
  CHECK(MembersOf(pool, 1e6) == 2);
  // At the end of each loop.
  CHECK(MembersOf(pool, 9, 5) == 1);
  CHECK(MembersOf(pool, 11, 5) == 2);
}

TEST_CASE("MembersFor takes those of four threads that end first, as waiting grows with them") {
  ThreadPool pool(4, RisingClock);
  REQUIRE(pool.barrier_ns() > 0);
  // 0.6 alone, 0.3 + 1/3 in two.
  CHECK(MembersOf(pool, 0.6) == 1);
  // 1; 1/2 + 1/3; 1/3 + 2/3
  CHECK(MembersOf(pool, 1) == 2);
  // 3; 3/2 + 1/3; 1 + 2/3; 3/4 + 1
  CHECK(MembersOf(pool, 3) == 3);
  // 6; 3 + 1/3; 2 + 2/3; 3/2 + 1
  CHECK(MembersOf(pool, 6) == 4);
}

TEST_CASE("MembersFor takes the one thread of a pool for any work") {
  const ThreadPool pool(1);
  CHECK(MembersFor(pool, kPortableKernels.f32, 1e30) == 1);
  CHECK(MembersFor(pool, kPortableKernels.f64, std::numeric_limits<double>::infinity()) == 1);
}

TEST_CASE("Engine is canceled while its flag is set, and never without one") {
  std::atomic<bool> flag{false};
  const Engine<float> engine{nullptr, nullptr, nullptr, &flag};
  CHECK_FALSE(engine.is_canceled());
  flag = true;
  CHECK(engine.is_canceled());
  flag = false;
  CHECK_FALSE(engine.is_canceled());
  CHECK_FALSE(Engine<float>{nullptr, nullptr, nullptr, nullptr}.is_canceled());
}

}  // namespace
}  // namespace cudnn_rnn
