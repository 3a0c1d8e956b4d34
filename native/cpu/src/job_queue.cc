#include "job_queue.h"

#include <chrono>
#include <exception>
#include <utility>

namespace cudnn_rnn {

JobQueue::JobQueue(std::function<void()> notify) : notify_(std::move(notify)), thread_([this] { Work(); }) {}

JobQueue::~JobQueue() { Stop(); }

uint64_t JobQueue::Push(std::function<void()> job) {
  uint64_t number;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(std::move(job));
    number = ++last_;
  }
  pushed_.notify_one();
  return number;
}

bool JobQueue::Await(uint64_t number) {
  if (completed() >= number) return false;
  uint64_t awaited = awaited_.load();
  while (number < awaited && !awaited_.compare_exchange_weak(awaited, number)) {
  }
  // Done meanwhile: its completion may have looked before the number stood there.
  return completed_.load() < number;
}

void JobQueue::Wait(uint64_t number) const {
  // Rare, and no place to wake anyone up from: a stream that steps while its parameters are being updated.
  while (completed() < number && !cancelled_) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

std::string JobQueue::FailureOf(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = failures_.find(number);
  return found == failures_.end() ? "" : found->second;
}

void JobQueue::Stop() {
  std::deque<std::function<void()>> dropped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    dropped.swap(jobs_);
  }
  pushed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void JobQueue::Work() {
  for (uint64_t number = 1;; number++) {
    std::function<void()> job;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      pushed_.wait(lock, [this] { return cancelled_ || !jobs_.empty(); });
      if (cancelled_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    std::string failure;
    try {
      job();
    } catch (const std::exception& error) {
      failure = error.what();
    }
    job = nullptr;
    bool idle;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!failure.empty()) failures_[number] = failure;
      idle = jobs_.empty();
    }
    completed_.store(number);
    if (number >= awaited_.load()) {
      awaited_.store(UINT64_MAX);
      notify_();
    } else if (idle) {
      notify_();
    }
  }
}

}  // namespace cudnn_rnn
