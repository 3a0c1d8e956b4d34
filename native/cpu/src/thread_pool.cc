#include "thread_pool.h"

#include <algorithm>

#include "spin_wait.h"

namespace cudnn_rnn {
namespace {

constexpr int kClosed = 1 << 30;

// Denormals are computed a hundred times slower than other numbers and never matter here. The caller's mode is restored.
class FlushDenormals {
 public:
#if defined(__x86_64__) || defined(_M_X64)
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  const unsigned before_;
#elif defined(__aarch64__) && !defined(_MSC_VER)
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | (1ull << 24)));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }

 private:
  unsigned long long before_;
#endif
};

}  // namespace

ThreadPool::ThreadPool(int size) : size_(std::max(1, size)), inside_(kClosed) {
  for (int index = 1; index < size_; index++) threads_.emplace_back([this, index] { Serve(index); });
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  calls_.fetch_add(1, std::memory_order_release);
  calls_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Run(int members, const Work& work) {
  std::lock_guard<std::mutex> lock(in_use_);
  RunLocked(members, work);
}

void ThreadPool::RunOrAlone(int members, const Work& work) {
  std::unique_lock<std::mutex> lock(in_use_, std::try_to_lock);
  if (lock.owns_lock()) return RunLocked(members, work);
  const FlushDenormals flush;
  work(0);
}

void ThreadPool::RunLocked(int members, const Work& work) {
  const FlushDenormals flush;
  if (std::min(members, size_) == 1) return work(0);
  work_ = &work;
  members_ = std::min(members, size_);
  inside_.store(0, std::memory_order_release);
  calls_.fetch_add(1, std::memory_order_release);
  calls_.notify_all();
  work(0);
  int inside = inside_.fetch_or(kClosed, std::memory_order_acq_rel) | kClosed;
  for (int spin = 0; inside != kClosed; inside = inside_.load(std::memory_order_acquire)) {
    if (spin++ < kSpins) {
      Pause();
    } else {
      inside_.wait(inside, std::memory_order_acquire);
    }
  }
}

void ThreadPool::Serve(int index) {
  const FlushDenormals flush;
  for (int seen = 0;;) {
    WaitWhileAtMost(calls_, seen);
    seen = calls_.load(std::memory_order_acquire);
    if (stopping_) return;
    int inside = inside_.load(std::memory_order_acquire);
    while ((inside & kClosed) == 0 && !inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) {
    }
    if ((inside & kClosed) != 0) continue;
    if (index < members_) (*work_)(index);
    if (inside_.fetch_sub(1, std::memory_order_acq_rel) - 1 == kClosed) inside_.notify_all();
  }
}

}  // namespace cudnn_rnn
