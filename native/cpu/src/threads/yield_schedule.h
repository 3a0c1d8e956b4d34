// When a thread yields its processor to one that is late.
//
// Linux places a woken thread on a processor at work if no other is idle, and leaves it there when one becomes idle,
// until its periodic load balancing moves it: 12 to 16 ms on two processors, in which one of them has two threads of a
// pool and the other none. A thread that sleeps for a moment leaves its processor to the late one, and is placed on the
// idle one when it wakes.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace cudnn_rnn {

// Times are nanoseconds of any clock.
class YieldSchedule {
 public:
  // Another thread took part in a loop: no thread is late.
  void Synchronized() { interval_ = 0; }

  // All others took no part in a loop. True at times: first when that has lasted for kFirstInterval, then after twice
  // the time, as a thread may be late because other work has its processor.
  bool IsDue(int64_t now) {
    if (interval_ == 0) {
      interval_ = kFirstInterval;
      next_ = now + interval_;
      return false;
    }
    if (now < next_) return false;
    interval_ *= 2;
    next_ = now + interval_;
    return true;
  }

  // Longer than other loops last whose owner is there, shorter than a time slice.
  static constexpr int64_t kFirstInterval = 300'000;

 private:
  // 0: no thread is late.
  int64_t interval_ = 0;
  int64_t next_ = 0;
};

// Sleeps for as long as a thread that has queued work needs until it sleeps too, some 100 µs, if `schedule` is due.
inline void YieldIfDue(YieldSchedule* schedule) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  if (schedule->IsDue(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count())) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

}  // namespace cudnn_rnn
