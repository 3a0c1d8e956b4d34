#include "threads/idle_wait.h"

#include <doctest/doctest.h>

#include <climits>
#include <thread>

namespace cudnn_rnn {
namespace {

TEST_CASE("IdlePatience is long after a brief wait and short after a long one") {
  IdlePatience patience;
  CHECK(patience.nanoseconds() == IdlePatience::kLong);
  patience.Waited(2 * IdlePatience::kLong + 1);
  CHECK(patience.nanoseconds() == IdlePatience::kShort);
  patience.Waited(2 * IdlePatience::kLong);
  CHECK(patience.nanoseconds() == IdlePatience::kLong);
}

TEST_CASE("WaitIdle returns when the value has changed, polled or slept for") {
  std::atomic<int> value{1};
  IdlePatience patience;
  WaitIdle(value, 0, &patience);
  CHECK(patience.nanoseconds() == IdlePatience::kLong);
  patience.Waited(3 * IdlePatience::kLong);
  std::thread setter([&] {
    std::this_thread::sleep_for(std::chrono::nanoseconds(3 * IdlePatience::kLong));
    value.store(2);
    WakeAll(&value);
  });
  WaitIdle(value, 1, &patience);
  CHECK(value == 2);
  setter.join();
}

TEST_CASE("WaitIdle sees a counter that passes the largest int") {
  std::atomic<int> calls{INT_MIN};
  IdlePatience patience;
  WaitIdle(calls, INT_MAX, &patience);
  CHECK(patience.nanoseconds() == IdlePatience::kLong);
}

TEST_CASE("SleepWhile and WakeAll hand a number over 2,000 times between two threads") {
  constexpr int kTimes = 2000;
  std::atomic<int> value{0};
  // Each waits for its own half of the numbers, and makes the next one of the other thread.
  const auto take_turns = [&value](int first) {
    for (int turn = first; turn < kTimes; turn += 2) {
      for (int seen = value.load(); seen != turn; seen = value.load()) SleepWhile(value, seen);
      value.store(turn + 1);
      WakeAll(&value);
    }
  };
  std::thread other(take_turns, 1);
  take_turns(0);
  other.join();
  CHECK(value == kTimes);
}

}  // namespace
}  // namespace cudnn_rnn
