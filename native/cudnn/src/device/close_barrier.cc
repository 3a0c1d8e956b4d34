#include "device/close_barrier.h"

#include <condition_variable>
#include <map>
#include <mutex>

namespace cudnn_rnn {
namespace {

/// How many sessions are closing, by device.
struct Closing {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, int> counts;
};

/// Never taken down: threads may still end when the process does.
Closing& TheClosing() {
  static auto* const closing = new Closing;
  return *closing;
}

}  // namespace

void CloseBarrier::Open() {
  Closing& closing = TheClosing();
  std::unique_lock lock(closing.mutex);
  closing.changed.wait(lock, [&] { return closing.counts[device_] == 0; });
  // Still under the lock, so a BeginClose() on another thread comes entirely before or after.
  state_ = State::kOpen;
}

void CloseBarrier::BeginClose() {
  Closing& closing = TheClosing();
  const std::lock_guard lock(closing.mutex);
  // One that still waits holds nothing, and must not wait for itself.
  if (state_ != State::kOpen) return;
  state_ = State::kClosing;
  closing.counts[device_]++;
}

void CloseBarrier::End() {
  Closing& closing = TheClosing();
  const std::lock_guard lock(closing.mutex);
  // A session that failed to open ends without having been counted.
  if (state_ == State::kClosing) closing.counts[device_]--;
  state_ = State::kEnded;
  closing.changed.notify_all();
}

}  // namespace cudnn_rnn
