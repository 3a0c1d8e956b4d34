#include "device/command_queue.h"

#include <utility>

namespace cudnn_rnn {

bool CommandQueue::Post(std::unique_ptr<Batch>& batch, bool is_exclusive) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    (is_exclusive ? exclusive_queue_ : queue_).push_back(std::move(batch));
  }
  // Without the lock: the worker would wake to wait for it.
  changed_.notify_one();
  return true;
}

/// Only the worker's thread calls this, so a batch is taken once and in order.
std::unique_ptr<Batch> CommandQueue::Next() {
  std::unique_lock lock(mutex_);
  // During an exclusive section only its own batches wake the worker.
  changed_.wait(lock, [this] { return closed_ || !exclusive_queue_.empty() || (!is_exclusive_ && !queue_.empty()); });
  // Even with batches queued: Close() has taken them.
  if (closed_) return nullptr;
  // An exclusive batch may be left over after its section ended; it runs first in any case.
  auto& source = exclusive_queue_.empty() ? queue_ : exclusive_queue_;
  std::unique_ptr<Batch> batch = std::move(source.front());
  source.pop_front();
  return batch;
}

void CommandQueue::SetExclusive(bool is_exclusive) {
  const std::lock_guard lock(mutex_);
  is_exclusive_ = is_exclusive;
}

std::vector<std::unique_ptr<Batch>> CommandQueue::Close() {
  std::vector<std::unique_ptr<Batch>> dropped;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (auto* source : {&exclusive_queue_, &queue_}) {
      for (auto& batch : *source) {
        // Host memory returns to its pool before the worker, which frees it, can end.
        batch->sources.clear();
        dropped.push_back(std::move(batch));
      }
      source->clear();
    }
  }
  changed_.notify_one();
  return dropped;
}

}  // namespace cudnn_rnn
