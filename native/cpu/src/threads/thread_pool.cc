#include "threads/thread_pool.h"

#include <algorithm>
#include <chrono>

#include "threads/idle_wait.h"
#include "threads/spin_wait.h"

namespace cudnn_rnn {
namespace {

constexpr int kClosed = 1 << 30;
// Until a measurement had all threads: about what two cores of one processor take when their clocks are low.
constexpr double kAssumedBarrierNs = 1000;
// The first measurement has time; those between calls delay a caller by some 30 µs each.
constexpr int kFirstRounds = 8;
constexpr int kLaterRounds = 2;
// Calls between two looks at the clock, which takes a hundredth of a short step.
constexpr uint64_t kCallsBetweenLooks = 16;
// Polls, in the first round of a measurement, for a thread that was just created, or sleeps, as those do whose calls
// were made on one thread so far: waking it takes 50 µs, and far more on a virtual machine. The second round finds it
// awake.
constexpr int kWakingSpins = 16 * kSpins;

// Denormals are computed a hundred times slower than other numbers and never matter here. The caller's mode is
// restored.
class FlushDenormals {
 public:
#if defined(__x86_64__) || defined(_M_X64)
  // MXCSR bit 15, flush to zero, for results and bit 6, denormals are zero, for operands (Intel SDM vol. 1, 10.2.3).
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(before_); }

 private:
  const unsigned before_;
#elif defined(__aarch64__) && !defined(_MSC_VER)
  FlushDenormals() {
    // FPCR bit 24, FZ: flushes both operands and results (Arm Architecture Reference Manual, FPCR).
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | (1ull << 24)));
  }
  ~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }

 private:
  unsigned long long before_;
#else
  FlushDenormals() {}
#endif
};

int64_t SteadyNanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

ThreadPool::ThreadPool(int size) : ThreadPool(size, SteadyNanoseconds) {}

ThreadPool::ThreadPool(int size, Clock clock)
    : size_(std::max(1, size)), clock_(clock), barrier_loops_(std::make_unique<SharedLoops>(size_)), inside_(kClosed) {
  for (int index = 1; index < size_; index++) threads_.emplace_back([this, index] { Serve(index); });
  if (size_ == 1) return;
  barrier_ns_ = kAssumedBarrierNs;
  const int64_t began = clock_();
  MeasureBarrier(kFirstRounds);
  schedule_.Measured(began, clock_());
}

ThreadPool::~ThreadPool() {
  // Ordered before the increment: a thread that sees the new number sees the flag.
  stopping_ = true;
  calls_.fetch_add(1, std::memory_order_release);
  WakeAll(&calls_);
  for (std::thread& thread : threads_) thread.join();
}

// Times empty loops, in which the threads only synchronize. In a round the slowest thread counts, as one that was
// descheduled meanwhile finds the loops finished, and the best round counts: other work on the machine can only make
// one slower.
void ThreadPool::MeasureBarrier(int rounds) {
  constexpr int kLoops = 32;
  for (int round = 0; round < rounds; round++) {
    barrier_loops_->Reset(size_);
    std::atomic<int> present{0};
    std::atomic<int64_t> slowest{0};
    bool all_present = false;
    RunLocked(size_, [&](int index) {
      SharedLoops::Member member(barrier_loops_.get(), index);
      present.fetch_add(1, std::memory_order_release);
      // Without all threads a round would measure their waking.
      const bool is_present = SpinWhileAtMost(present, size_ - 1, round == 0 || !is_measured_ ? kWakingSpins : kSpins);
      if (index == 0) all_present = is_present;
      const int64_t began = clock_();
      for (int loop = 0; loop < kLoops; loop++) member.Run(size_, [](ptrdiff_t) {});
      const int64_t elapsed = clock_() - began;
      int64_t seen = slowest.load();
      while (seen < elapsed && !slowest.compare_exchange_weak(seen, elapsed)) {
      }
    });
    if (!all_present) continue;
    const double measured = static_cast<double>(slowest.load()) / kLoops;
    if (!is_measured_ || measured < barrier_ns()) barrier_ns_.store(measured, std::memory_order_relaxed);
    is_measured_ = true;
  }
}

void ThreadPool::Run(int members, const Work& work) {
  std::lock_guard<std::mutex> lock(in_use_);
  RunAndLearn(members, work);
}

void ThreadPool::RunOrAlone(int members, const Work& work) {
  if (size_ == 1) {
    const FlushDenormals flush;
    return work(0);
  }
  // A stream's step takes microseconds. Waiting for a whole pass of another caller would take milliseconds.
  std::unique_lock<std::mutex> lock(in_use_, std::try_to_lock);
  if (lock.owns_lock()) return RunAndLearn(members, work);
  const FlushDenormals flush;
  work(0);
}

void ThreadPool::RunAndLearn(int members, const Work& work) {
  RunLocked(members, work);
  if (size_ == 1 || ++calls_made_ % kCallsBetweenLooks != 0) return;
  const int64_t now = clock_();
  if (!schedule_.IsDue(now)) return;
  MeasureBarrier(kLaterRounds);
  schedule_.Measured(now, clock_());
}

void ThreadPool::RunLocked(int members, const Work& work) {
  const FlushDenormals flush;
  if (std::min(members, size_) == 1) return work(0);
  // Plain fields: written before the release below and read after the acquire of a thread that entered.
  work_ = &work;
  members_ = std::min(members, size_);
  // Opens the call: the writes above are visible to a thread that enters (release, paired with its acquire).
  inside_.store(0, std::memory_order_release);
  calls_.fetch_add(1, std::memory_order_release);
  WakeAll(&calls_);
  work(0);
  // Closes the call. From here on only threads that entered before are inside; `work` lives on the caller's stack, so
  // the call returns when the last of them has left.
  // One word holds the flag and the count, so closing and entering are ordered by the hardware: a thread either entered
  // before, and is waited for, or finds the flag.
  int inside = inside_.fetch_or(kClosed, std::memory_order_acq_rel) | kClosed;
  for (int spin = 0; inside != kClosed; inside = inside_.load(std::memory_order_acquire)) {
    if (spin++ < kSpins) {
      Pause();
    } else {
      SleepWhile(inside_, inside);
    }
  }
}

void ThreadPool::Serve(int index) {
  const FlushDenormals flush;
  IdlePatience patience;
  for (int seen = 0;;) {
    WaitIdle(calls_, seen, &patience);
    seen = calls_.load(std::memory_order_acquire);
    if (stopping_) return;
    // Enters unless the call was closed: an increment that tests kClosed in the same step.
    int inside = inside_.load(std::memory_order_acquire);
    while ((inside & kClosed) == 0 && !inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) {
    }
    if ((inside & kClosed) != 0) continue;
    // A call with fewer members than threads: the others leave again at once.
    if (index < members_) (*work_)(index);
    if (inside_.fetch_sub(1, std::memory_order_acq_rel) - 1 == kClosed) WakeAll(&inside_);
  }
}

}  // namespace cudnn_rnn
