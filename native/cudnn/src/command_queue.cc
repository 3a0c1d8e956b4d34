#include "command_queue.h"

#include <utility>

namespace cudnn_rnn {

bool CommandQueue::Post(std::unique_ptr<Batch>& batch, bool is_exclusive) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  (is_exclusive ? exclusive_queue_ : queue_).push_back(std::move(batch));
  changed_.notify_one();
  return true;
}

std::unique_ptr<Batch> CommandQueue::Next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || !exclusive_queue_.empty() || (!is_exclusive_ && !queue_.empty()); });
  if (closed_) return nullptr;
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
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_one();
  std::vector<std::unique_ptr<Batch>> dropped;
  for (auto* source : {&exclusive_queue_, &queue_}) {
    for (auto& batch : *source) dropped.push_back(std::move(batch));
    source->clear();
  }
  return dropped;
}

}  // namespace cudnn_rnn
