#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "batch.h"

namespace cudnn_rnn {

/// Destroys a handle of CUDA's that has no owner any more.
using Retired = std::function<void(const Libraries&)>;

/// What other threads hand to a session's worker: batches in order, and memory and handles without an owner. CUDA calls
/// belong to the worker's thread: on another one they would use, or even create, the context of device 0.
class Inbox {
 public:
  /// Free `retired` and `retired_handles`, then run `batch` if there is one. All empty: the session closes.
  struct Work {
    std::vector<void*> retired;
    std::vector<Retired> retired_handles;
    std::unique_ptr<Batch> batch;

    bool IsEmpty() const { return retired.empty() && retired_handles.empty() && !batch; }
  };

  /// False where the session is closed; the batch stays the caller's.
  bool Post(std::unique_ptr<Batch>& batch, bool urgent);
  void Retire(void* pointer);
  /// False once the session has destroyed what was retired for the last time; then the caller destroys the handle.
  bool RetireHandle(Retired retire);
  /// The last retired handles; none are taken afterwards.
  std::vector<Retired> Drain();
  /// Blocks until there is something to do. While held, only urgent batches are handed out.
  Work Next();
  void SetHeld(bool held);
  /// Wakes the worker for the last time and drops what was not begun.
  std::vector<std::unique_ptr<Batch>> Close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Batch>> queue_;
  std::deque<std::unique_ptr<Batch>> urgent_;
  std::vector<void*> retired_;
  std::vector<Retired> retired_handles_;
  bool is_drained_ = false;
  bool held_ = false;
  bool closed_ = false;
};

}  // namespace cudnn_rnn
