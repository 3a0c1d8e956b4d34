// The call that a rank is in, as its watchdog and the reports of a roll call have it.
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
  /// Of the operation in progress, or else since the last one ended.
  double seconds = 0;
};

/// Written by the thread of MPI, read by any.
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

  /// A consistent copy, with the seconds computed now.
  Progress Current() const {
    const std::lock_guard lock(mutex_);
    Progress progress = progress_;
    progress.seconds = std::chrono::duration<double>(Clock::now() - since_).count();
    return progress;
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Never held during a call of MPI, which may block for as long as a rank is late.
  mutable std::mutex mutex_;
  Progress progress_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace cudnn_rnn
