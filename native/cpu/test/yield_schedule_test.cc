#include "threads/yield_schedule.h"

#include <doctest/doctest.h>

namespace cudnn_rnn {
namespace {

constexpr int64_t kFirst = YieldSchedule::kFirstInterval;

TEST_CASE("YieldSchedule is due when a thread has been late for its first interval, then after twice the time") {
  YieldSchedule schedule;
  CHECK_FALSE(schedule.IsDue(1000));
  CHECK_FALSE(schedule.IsDue(1000 + kFirst - 1));
  CHECK(schedule.IsDue(1000 + kFirst));
  CHECK_FALSE(schedule.IsDue(1000 + 3 * kFirst - 1));
  CHECK(schedule.IsDue(1000 + 3 * kFirst));
  CHECK_FALSE(schedule.IsDue(1000 + 7 * kFirst - 1));
  CHECK(schedule.IsDue(1000 + 7 * kFirst));
}

TEST_CASE("YieldSchedule starts again when all threads are synchronized") {
  YieldSchedule schedule;
  CHECK_FALSE(schedule.IsDue(0));
  CHECK(schedule.IsDue(kFirst));
  schedule.Synchronized();
  CHECK_FALSE(schedule.IsDue(100 * kFirst));
  CHECK_FALSE(schedule.IsDue(101 * kFirst - 1));
  CHECK(schedule.IsDue(101 * kFirst));
}

}  // namespace
}  // namespace cudnn_rnn
