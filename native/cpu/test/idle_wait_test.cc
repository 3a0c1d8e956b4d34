#include "threads/idle_wait.h"

#include <doctest/doctest.h>

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

TEST_CASE("WaitIdle returns when the value has passed the limit, polled or slept for") {
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

}  // namespace
}  // namespace cudnn_rnn
