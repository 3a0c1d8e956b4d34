// The calls that a rank is in, as its watchdog and the reports of a roll call have them: one of MPI, and any of a
// library that sums on the devices. That library reports no rank that is missing, so the watchdog of MPI waits for its
// calls too.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "operation.h"

namespace cudnn_rnn {

/// Its bytes are the message of a report.
struct Progress {
  OperationKind kind = OperationKind::kNone;
  /// Collectives begun.
  std::int64_t sequence = 0;
  std::int64_t bytes = 0;
  /// Since the operation in progress began, or else since the last one ended.
  double seconds = 0;
  /// Calls of the devices' library begun and ended, in one order on all ranks.
  std::int64_t device_begun = 0;
  std::int64_t device_ended = 0;
  /// Since the first of those that have not ended is the first.
  double device_seconds = 0;

  bool is_in_device_call() const { return device_begun > device_ended; }
};

/// Written by the thread of MPI, its device calls by JavaScript's, read by any.
class CallProgress {
 public:
  void Begin(OperationKind kind, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    progress_.kind = kind;
    // Counts collectives only: it is the same on all ranks that are at the same call.
    if (IsCollective(kind)) progress_.sequence++;
    progress_.bytes = static_cast<std::int64_t>(bytes);
    since_ = Clock::now();
  }

  void End() {
    const std::lock_guard lock(mutex_);
    progress_.kind = OperationKind::kNone;
    since_ = Clock::now();
  }

  void BeginDeviceCall() {
    const std::lock_guard lock(mutex_);
    if (!progress_.is_in_device_call()) device_since_ = Clock::now();
    progress_.device_begun++;
  }

  void EndDeviceCall() {
    const std::lock_guard lock(mutex_);
    progress_.device_ended++;
    device_since_ = Clock::now();
  }

  /// A consistent copy, with the seconds computed now.
  Progress Current() const {
    const std::lock_guard lock(mutex_);
    Progress progress = progress_;
    progress.seconds = SecondsSince(since_);
    progress.device_seconds = progress.is_in_device_call() ? SecondsSince(device_since_) : 0;
    return progress;
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double SecondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  // Never held during a call of MPI, which may block for as long as a rank is late.
  mutable std::mutex mutex_;
  Progress progress_;
  Clock::time_point since_ = Clock::now();
  Clock::time_point device_since_ = since_;
};

}  // namespace cudnn_rnn
