#include "threads/thread_pool.h"

#include <algorithm>
#include <chrono>

#include "threads/shared_loops.h"
#include "threads/spin_wait.h"

namespace cudnn_rnn {
namespace {

constexpr int kClosed = 1 << 30;
// Where no round of the measurement had all threads.
constexpr double kAssumedMeetingNs = 1000;

// Denormals are computed a hundred times slower than other numbers and never matter here. The caller's mode is
// restored.
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
  if (size_ > 1) meeting_ns_ = MeasureMeeting();
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  calls_.fetch_add(1, std::memory_order_release);
  calls_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// The best of a few rounds, as threads of others can only make one worse.
double ThreadPool::MeasureMeeting() {
  constexpr int kRounds = 8;
  constexpr int kLoops = 32;
  double best = kAssumedMeetingNs;
  bool measured = false;
  for (int round = 0; round < kRounds; round++) {
    SharedLoops loops(size_);
    std::atomic<int> present{0};
    double elapsed = 0;
    bool all_present = false;
    Run(size_, [&](int index) {
      SharedLoops::Member member(&loops, index);
      present.fetch_add(1, std::memory_order_release);
      // Without the others nothing is to be measured; they may be late when they have just been made.
      const bool met = SpinWhileAtMost(present, size_ - 1, kSpins);
      if (index == 0) all_present = met;
      const auto began = std::chrono::steady_clock::now();
      for (int loop = 0; loop < kLoops; loop++) member.Run(size_, [](ptrdiff_t) {});
      if (index == 0)
        elapsed = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
    });
    if (!all_present) continue;
    best = measured ? std::min(best, elapsed / kLoops) : elapsed / kLoops;
    measured = true;
  }
  return best;
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
