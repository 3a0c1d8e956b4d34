#include "thread_pool.h"

#include <algorithm>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace cudnn_rnn {
namespace {

// About 20 µs of polling: longer than threads that run undisturbed ever wait for each other.
constexpr int kSpins = 1 << 10;

inline void Pause() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Denormals are computed a hundred times slower than other numbers and never matter here. The caller's mode is restored.
class FlushDenormals {
 public:
#if defined(__x86_64__) || defined(_M_X64)
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  const unsigned before_;
#elif defined(__aarch64__)
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

void WaitWhileEqual(const std::atomic<int>& value, int old) {
  for (int spin = 0; spin < kSpins; spin++) {
    if (value.load(std::memory_order_acquire) != old) return;
    Pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

ThreadPool::ThreadPool(int size) : size_(std::max(1, size)) {
  for (int index = 1; index < size_; index++) threads_.emplace_back([this, index] { Work(index); });
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Run(int members, const std::function<void(Team)>& work) {
  std::lock_guard<std::mutex> lock(in_use_);
  RunLocked(members, work);
}

void ThreadPool::RunOrAlone(int members, const std::function<void(Team)>& work) {
  std::unique_lock<std::mutex> lock(in_use_, std::try_to_lock);
  if (lock.owns_lock()) return RunLocked(members, work);
  const FlushDenormals flush;
  Barrier barrier(1);
  work({0, 1, &barrier});
}

void ThreadPool::RunLocked(int members, const std::function<void(Team)>& work) {
  const FlushDenormals flush;
  members = std::min(members, size_);
  Barrier barrier(members);
  if (members > 1) {
    work_ = &work;
    members_ = members;
    barrier_.reset(new Barrier(members));
    running_.store(size_ - 1, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
  }
  work({0, members, members > 1 ? barrier_.get() : &barrier});
  if (members > 1) {
    for (int left = running_.load(std::memory_order_acquire); left > 0; left = running_.load(std::memory_order_acquire)) {
      WaitWhileEqual(running_, left);
    }
  }
}

void ThreadPool::Work(int index) {
  const FlushDenormals flush;
  for (int seen = 0;;) {
    WaitWhileEqual(generation_, seen);
    seen++;
    if (stopping_) return;
    if (index < members_) (*work_)({index, members_, barrier_.get()});
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_all();
  }
}

}  // namespace cudnn_rnn
