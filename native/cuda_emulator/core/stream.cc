#include "core/stream.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "abi/cudart.h"
#include "core/device.h"
#include "core/ledger.h"
#include "core/schedule.h"
#include "core/settings.h"

namespace emulator {
namespace {

std::atomic<std::uint32_t> streams_made{0};

// Sleeps as long as the setting specifies. A test that lowers the setting ends the pause.
void Pause() {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const auto settings = CurrentSettings();
    if (settings->counted_time) return;
    const std::chrono::microseconds pause(settings->slow_microseconds);
    const auto left = pause - (std::chrono::steady_clock::now() - begin);
    if (left <= left.zero()) return;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, std::chrono::milliseconds(1)));
  }
}

void Run(const Operation& operation, int device, std::uint64_t source_sum, const Clock& clock) {
  if (DeviceError(device) != 0 && !operation.always) return;
  Pause();
  if (operation.source != nullptr && Checksum(operation.source, operation.source_bytes) != source_sum) {
    ReportViolation(operation.name + ": the host changed the source of a copy before the copy ran");
  }
  try {
    if (TakeStickyTurn()) throw DeviceFault(cudaErrorIllegalAddress, operation.name + ": injected illegal address");
    if (operation.host_function) JoinHost(clock);  // the function may signal the host that the stream got this far
    operation.run(device);
  } catch (const DeviceFault& fault) {
    BreakDevice(device, fault.error(), operation.name + ": " + fault.what());
  }
}

}  // namespace

void Point::Complete(std::chrono::microseconds counted) {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
    counted_ = counted;
    time_ = std::chrono::steady_clock::now();
  }
  changed_.notify_all();
}

bool Point::Done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

void Point::Wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
}

std::chrono::steady_clock::time_point Point::time() const {
  const std::lock_guard lock(mutex_);
  return time_;
}

std::chrono::microseconds Point::counted() const {
  const std::lock_guard lock(mutex_);
  return counted_;
}

Stream::Stream(int device, bool blocking) : device(device), blocking(blocking), id(++streams_made) {}

void Stream::Push(StreamItem item) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(item));
    if (!started_) {
      started_ = true;
      std::thread([self = shared_from_this()] { self->Work(); }).detach();
    }
  }
  changed_.notify_one();
}

void Stream::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
}

void Stream::Work() {
  for (;;) {
    StreamItem item;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) {
        // A device-wide wait may still push a point here; that starts a new thread.
        started_ = false;
        return;
      }
      item = std::move(queue_.front());
      queue_.pop_front();
    }
    if (item.waits_for) item.waits_for->Wait();
    if (item.operations) {
      for (std::size_t i = 0; i < item.operations->size(); ++i) {
        counted_ += std::chrono::microseconds(CurrentSettings()->slow_microseconds + 1);
        Run((*item.operations)[i], device, item.source_sums[i], item.clock);
      }
    }
    if (item.completes) item.completes->Complete(counted_);
  }
}

std::uint64_t Checksum(const void* bytes, std::size_t count) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::uint64_t sum = 0xcbf29ce484222325u ^ count;
  for (; count >= 8; at += 8, count -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    sum = (sum ^ word) * 0x100000001b3u;
    sum ^= sum >> 29;
  }
  for (; count > 0; ++at, --count) sum = (sum ^ *at) * 0x100000001b3u;
  return sum;
}

}  // namespace emulator
