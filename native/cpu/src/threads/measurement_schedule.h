// When a pool measures again the time of a barrier of its threads.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cudnn_rnn {

// A pool that is opened while the machine is busy measures the time slices of other processes, and computes on one
// thread for that. The time to the next measurement doubles, so such a pool has measured again at the latest when twice
// the time has passed after which the machine became idle. Times are nanoseconds of any clock.
class MeasurementSchedule {
 public:
  bool IsDue(int64_t now) const { return now >= next_; }

  // A measurement began and ended. One that waited for a sleeping thread takes some 0.3 ms: it is made up for by a
  // hundred times as long without one.
  void Measured(int64_t began, int64_t ended) {
    next_ = ended + std::max(interval_, kShare * (ended - began));
    interval_ = std::min(2 * interval_, kLongestInterval);
  }

  static constexpr int64_t kFirstInterval = 1'000'000;
  static constexpr int64_t kLongestInterval = int64_t{10'000'000'000};
  static constexpr int64_t kShare = 100;

 private:
  int64_t interval_ = kFirstInterval;
  int64_t next_ = 0;
};

}  // namespace cudnn_rnn
