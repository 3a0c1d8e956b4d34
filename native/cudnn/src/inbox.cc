#include "inbox.h"

#include <utility>

namespace cudnn_rnn {

DeviceBuffer::~DeviceBuffer() {
  if (pointer_ != nullptr) inbox_->Retire(pointer_);
}

bool Inbox::Post(std::unique_ptr<Batch>& batch, bool urgent) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  (urgent ? urgent_ : queue_).push_back(std::move(batch));
  changed_.notify_one();
  return true;
}

void Inbox::Retire(void* pointer) {
  const std::lock_guard lock(mutex_);
  // A closed session has freed, or is about to free, everything it ever allocated.
  if (closed_) return;
  retired_.push_back(pointer);
  changed_.notify_one();
}

Inbox::Work Inbox::Next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return closed_ || !retired_.empty() || !urgent_.empty() || (!held_ && !queue_.empty());
  });
  Work work;
  if (closed_) return work;
  work.retired = std::exchange(retired_, {});
  auto& source = !urgent_.empty() || held_ ? urgent_ : queue_;
  if (!source.empty()) {
    work.batch = std::move(source.front());
    source.pop_front();
  }
  return work;
}

void Inbox::SetHeld(bool held) {
  const std::lock_guard lock(mutex_);
  held_ = held;
}

std::vector<std::unique_ptr<Batch>> Inbox::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_one();
  std::vector<std::unique_ptr<Batch>> dropped;
  for (auto* source : {&urgent_, &queue_}) {
    for (auto& batch : *source) dropped.push_back(std::move(batch));
    source->clear();
  }
  return dropped;
}

}  // namespace cudnn_rnn
