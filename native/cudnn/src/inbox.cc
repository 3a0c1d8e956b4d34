#include "inbox.h"

#include <chrono>
#include <utility>

namespace cudnn_rnn {
namespace {

/// An idle worker frees what was released after this time: one wake-up serves many buffers.
constexpr std::chrono::milliseconds kReleaseDelay{2};

}  // namespace

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
  if (retired_.size() + retired_handles_.size() == 1) changed_.notify_one();
}

bool Inbox::RetireHandle(Retired retire) {
  const std::lock_guard lock(mutex_);
  if (is_drained_) return false;
  retired_handles_.push_back(std::move(retire));
  if (retired_.size() + retired_handles_.size() == 1) changed_.notify_one();
  return true;
}

std::vector<Retired> Inbox::Drain() {
  const std::lock_guard lock(mutex_);
  is_drained_ = true;
  return std::exchange(retired_handles_, {});
}

Inbox::Work Inbox::Next() {
  std::unique_lock lock(mutex_);
  const auto has_batch = [this] { return closed_ || !urgent_.empty() || (!held_ && !queue_.empty()); };
  const auto has_retired = [this] { return !retired_.empty() || !retired_handles_.empty(); };
  changed_.wait(lock, [&] { return has_batch() || has_retired(); });
  // Batches go first; what was released waits for the next one, or for a pause.
  if (!has_batch()) changed_.wait_for(lock, kReleaseDelay, has_batch);
  Work work;
  if (closed_) return work;
  work.retired = std::exchange(retired_, {});
  work.retired_handles = std::exchange(retired_handles_, {});
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
