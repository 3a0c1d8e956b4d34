// How long a thread without work polls for the next call before it sleeps.
//
// Waking a thread takes 50 µs, and more on a virtual machine: as long as a pass of a small network. A caller that
// awaits each result makes its next call some 10 to 50 µs later, with its own work in between. If calls follow each
// other like that, polling for them keeps the threads awake; a thread that is called rarely sleeps soon.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "threads/spin_wait.h"

namespace cudnn_rnn {

// Times are nanoseconds of any clock.
class IdlePatience {
 public:
  int64_t nanoseconds() const { return nanoseconds_; }

  // The last wait, from the end of a call to the next one, waking included.
  void Waited(int64_t nanoseconds) { nanoseconds_ = nanoseconds <= 2 * kLong ? kLong : kShort; }

  static constexpr int64_t kShort = 20'000;
  // Longer than callers take that only await and call again. Twice that is a wait in which polling would have been half
  // as long as the sleep and the waking that it saves.
  static constexpr int64_t kLong = 200'000;

 private:
  int64_t nanoseconds_ = kLong;
};

// Returns when value differs from `seen`, and not when it is greater: a counter of calls passes INT_MAX in a day.
inline void WaitIdle(const std::atomic<int>& value, int seen, IdlePatience* patience) {
  // A microsecond or two, between looks at the clock.
  constexpr int kPolls = 64;
  const auto began = std::chrono::steady_clock::now();
  const auto waited = [began] {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - began).count();
  };
  while (!SpinWhile(value, seen, kPolls)) {
    if (waited() >= patience->nanoseconds()) SleepWhile(value, seen);
  }
  patience->Waited(waited());
}

}  // namespace cudnn_rnn
