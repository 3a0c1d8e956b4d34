#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "batch.h"

namespace cudnn_rnn {

/// What other threads hand to a session's worker: batches in order, and memory that nobody owns any more.
class Inbox {
 public:
  /// What there is to do: free `retired`, then run `batch` if there is one. Both empty: the session closes.
  struct Work {
    std::vector<void*> retired;
    std::unique_ptr<Batch> batch;
  };

  /// False where the session is closed; the batch stays the caller's.
  bool Post(std::unique_ptr<Batch>& batch, bool urgent);
  void Retire(void* pointer);
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
  bool held_ = false;
  bool closed_ = false;
};

}  // namespace cudnn_rnn
