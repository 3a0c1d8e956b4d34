#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "device/batch.h"

namespace cudnn_rnn {

/// The batches of a session, in order. While an exclusive section is under way, its batches alone are handed out.
/// Posted to by JavaScript's thread, emptied by the worker.
class CommandQueue {
 public:
  /// False if the session is closed; the batch stays the caller's.
  bool Post(std::unique_ptr<Batch>& batch, bool is_exclusive);
  /// Blocks until there is a batch to run; null once the session closes.
  std::unique_ptr<Batch> Next();
  /// Begins or ends an exclusive section. On the worker's thread, after the batch that requested it, so all batches
  /// queued before that one have run.
  void SetExclusive(bool is_exclusive);
  /// Wakes the worker for the last time and returns the batches that have not begun, for the caller to settle.
  std::vector<std::unique_ptr<Batch>> Close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Batch>> queue_;
  std::deque<std::unique_ptr<Batch>> exclusive_queue_;
  bool is_exclusive_ = false;
  bool closed_ = false;
};

}  // namespace cudnn_rnn
