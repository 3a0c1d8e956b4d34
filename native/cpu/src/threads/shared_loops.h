// Loops that several threads run together, built so that a thread which the scheduler has descheduled delays no other.
//
// Every loop is cut into items. Every home thread has a range of them, the same in every loop over as many items, so
// its part of the weights stays in its cache. A thread that has finished its own range steals items of the others' (as
// in Cilk: Blumofe and Leiserson 1999, "Scheduling multithreaded computations by work stealing"). A loop ends when all
// its items are done, by whichever thread; a thread that was away finds the loops it missed finished and skips them. A
// barrier would wait for every thread instead, and on a busy machine that is a time slice of several milliseconds.
//
// Items of one loop must be independent of each other. All of them come before any item of the next loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "threads/spin_wait.h"
#if !defined(__wasm__)
#include "threads/yield_schedule.h"
#endif

namespace cudnn_rnn {

class SharedLoops {
 public:
  explicit SharedLoops(int members) : SharedLoops(members, members) {}
  // `homes` of the members have a range of items. One that is alone claims none.
  SharedLoops(int homes, int members)
      : homes_(homes), members_(members), claims_(members > 1 ? new Claim[homes] : nullptr) {}

  // Back to the first loop, for new members, each with a range: at most as many as the constructor was given homes. No
  // thread may be inside.
  void Reset(int members) {
    if (claims_ == nullptr) return;
    homes_ = members_ = members;
    for (int home = 0; home < homes_; home++) claims_[home].word.store(0, std::memory_order_relaxed);
    ended_.store(0, std::memory_order_relaxed);
    done_.store(0, std::memory_order_release);
  }

  // One thread's place in the sequence of loops. All threads must run the same loops in the same order.
  class Member {
   public:
    // A thread with home -1 has no items and only helps.
    Member(SharedLoops* loops, int home) : loops_(loops->members_ > 1 ? loops : nullptr), home_(home) {}
    // A thread that works alone. It counts its items without atomic operations, two for each item of a loop.
    Member() : loops_(nullptr), home_(0) {}

    bool is_alone() const { return loops_ == nullptr; }

    // Runs body(item) for every item of [0, items) that falls to this thread; returns when all are done. Consecutive
    // loops over the same data alternate `backwards`, so that each begins with the items that are still in the cache.
    template <typename Body>
    void Run(ptrdiff_t items, const Body& body, bool backwards = false) {
      if (items <= 0) return;
      if (is_alone()) {
        Drain(0, 0, items, body, backwards);
        return;
      }
      const int loop = loop_++;
      target_ += static_cast<uint64_t>(items);
      // The count of all items ever done shows late threads at once that a loop, and all before it, is over: no
      // per-loop state.
      if (loops_->done_.load(std::memory_order_acquire) >= target_) return;
      if (home_ >= 0) loops_->Report(loop, target_, Drain(loop, home_, items, body, backwards));
      if (loops_->homes_ > 1 || home_ < 0) {
        if (SpinWhileAtMost(loops_->done_, target_ - 1, patience_)) return;
        uint64_t helped = 0;
        for (int k = 0; k < loops_->homes_; k++) {
          helped += Drain(loop, (home_ + 1 + k) % loops_->homes_, items, body, backwards);
        }
        loops_->Report(loop, target_, helped);
        // The owner of the range is late. In the following loops this thread helps at once.
        patience_ = helped > 0 ? 0 : kPatience;
#if !defined(__wasm__)
        // A thread without a home helps with loops whose owners may be at work elsewhere.
        if (home_ >= 0) YieldToAbsent(items, helped);
#endif
      }
      loops_->WaitFor(target_);
    }

   private:
    // Polls before a thread takes another one's items: the owner is usually about to take them itself, and an item that
    // moves between cores brings its weights into a second cache.
    static constexpr int kPatience = 128;

    template <typename Body>
    uint64_t Drain(int loop, int home, ptrdiff_t items, const Body& body, bool backwards) {
      // The same division in every loop of `items` items: a thread has the same panels, its cache already has them.
      const ptrdiff_t begin = is_alone() ? 0 : items * home / loops_->homes_;
      const ptrdiff_t count = is_alone() ? items : items * (home + 1) / loops_->homes_ - begin;
      uint64_t done = 0;
      for (ptrdiff_t item; (item = TakeOf(loop, home, count, done)) >= 0; done++) {
        body(begin + (backwards ? count - 1 - item : item));
      }
      return done;
    }

    // The next item of a range of which this thread has taken `done`, or -1.
    ptrdiff_t TakeOf(int loop, int home, ptrdiff_t count, uint64_t done) {
      if (!is_alone()) return loops_->Take(loop, home, count);
      return done < static_cast<uint64_t>(count) ? static_cast<ptrdiff_t>(done) : -1;
    }

#if !defined(__wasm__)
    // This thread has taken `helped` of a loop's `items` items from the others' ranges.
    void YieldToAbsent(ptrdiff_t items, uint64_t helped) {
      const ptrdiff_t own = items * (home_ + 1) / loops_->homes_ - items * home_ / loops_->homes_;
      if (helped > 0 && helped == static_cast<uint64_t>(items - own)) {
        YieldIfDue(&yields_);
      } else {
        yields_.Synchronized();
      }
    }

    YieldSchedule yields_;
#endif
    SharedLoops* const loops_;
    const int home_;
    int patience_ = kPatience;
    int loop_ = 0;
    uint64_t target_ = 0;
  };

 private:
  // (number of the loop + 1) << 32 | items taken of it
  // A cache line each: two homes that take items side by side must not invalidate each other's line (false sharing).
  struct alignas(64) Claim {
    std::atomic<uint64_t> word{0};
  };

  // The next item of a home's range, or -1.
  ptrdiff_t Take(int loop, int home, ptrdiff_t count) {
    // The loop's number is part of the word, so a thread that comes late with an old number can never take an item of a
    // newer loop (the ABA problem), and no thread has to reset counters between loops.
    const uint64_t mine = static_cast<uint64_t>(loop) + 1;
    std::atomic<uint64_t>& word = claims_[home].word;
    uint64_t seen = word.load(std::memory_order_acquire);
    for (;;) {
      // An older number: no thread has begun this loop's range.
      const uint64_t taken = (seen >> 32) == mine ? (seen & UINT32_MAX) : 0;
      if ((seen >> 32) > mine || taken >= static_cast<uint64_t>(count)) return -1;
      if (word.compare_exchange_weak(seen, mine << 32 | (taken + 1), std::memory_order_acq_rel)) {
        return static_cast<ptrdiff_t>(taken);
      }
    }
  }

  // A polling thread reads the count itself; only sleeping ones are woken. All accesses here and in WaitFor are
  // sequentially consistent (Dekker's pattern: each side writes its own variable, then reads the other's): either this
  // thread sees the sleeper, or the sleeper sees the loop's last items before it sleeps.
  void Report(int loop, uint64_t target, uint64_t items) {
    if (items == 0 || done_.fetch_add(items) + items < target || sleepers_.load() == 0) return;
    ended_.store(loop + 1);
    WakeAll(&ended_);
  }

  void WaitFor(uint64_t target) {
    if (SpinWhileAtMost(done_, target - 1, kSpins)) return;
    sleepers_.fetch_add(1);
    // ended_ is read before done_: if the last item is counted between both reads, ended_ differs from `seen` and the
    // wait returns at once.
    for (int seen = ended_.load(); done_.load() < target; seen = ended_.load()) SleepWhile(ended_, seen);
    sleepers_.fetch_sub(1);
  }

  int homes_;
  int members_;
  std::unique_ptr<Claim[]> claims_;
  // Items of all loops: a loop is over when its last one is counted. In one cache line with the sleepers, as threads on
  // cores far apart wait longest for lines of each other.
  alignas(64) std::atomic<uint64_t> done_{0};
  // Threads that sleep until a loop ends. A call to wake them costs more than a short loop, even without sleepers.
  std::atomic<int> sleepers_{0};
  // The last loop at whose end a thread slept.
  std::atomic<int> ended_{0};
};

}  // namespace cudnn_rnn
