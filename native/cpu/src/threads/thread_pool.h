// The threads that compute. They live as long as the executor: starting a thread takes some 20 µs, a step of a small
// network takes two.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "threads/measurement_schedule.h"
#include "threads/shared_loops.h"

namespace cudnn_rnn {

// `size` threads, of which the caller of Run is one.
class ThreadPool {
 public:
  // The function that each thread calls with its number. A reference to the caller's body, not a std::function: a call
  // allocates nothing.
  class Work {
   public:
    template <typename Body>
    Work(const Body& body)
        : body_(&body), call_([](const void* body, int index) { (*static_cast<const Body*>(body))(index); }) {}
    void operator()(int index) const { call_(body_, index); }

   private:
    const void* body_;
    void (*call_)(const void*, int);
  };

  // Nanoseconds that never fall. Called by all threads.
  using Clock = int64_t (*)();

  explicit ThreadPool(int size);
  ThreadPool(int size, Clock clock);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  // Nanoseconds from the moment at which the last thread ends its part of a loop (shared_loops.h) to the moment at
  // which all receive it: a fraction of a microsecond within a processor, several between distant cores, 0 for one
  // thread. Measured when the pool is made, and after calls from then on as MeasurementSchedule has it; the smallest
  // value remains, because a loaded machine can only make a measurement larger. Any thread may read it.
  double barrier_ns() const { return barrier_ns_.load(std::memory_order_relaxed); }

  // Runs work(0) here and work(1…members-1) on those other threads that arrive before work(0) returns: work must not
  // need them, and need not, as SharedLoops gives the items of a missing thread to the others. Denormals are flushed to
  // zero meanwhile. One call at a time; a second caller waits.
  void Run(int members, const Work& work);

  // Like Run, but on the calling thread alone while another caller has the pool.
  void RunOrAlone(int members, const Work& work);

 private:
  // Lowers barrier_ns_ to the best of `rounds` measurements.
  void MeasureBarrier(int rounds);
  // With the pool in hand: RunLocked, and at times another measurement.
  void RunAndLearn(int members, const Work& work);
  void RunLocked(int members, const Work& work);
  void Serve(int index);

  const int size_;
  const Clock clock_ = nullptr;
  std::mutex in_use_;
  std::vector<std::thread> threads_;
  std::atomic<double> barrier_ns_{0};
  // The measurement's loops, allocated once: a call allocates nothing.
  const std::unique_ptr<SharedLoops> barrier_loops_;
  // Whether barrier_ns_ is a measurement yet, not an assumption.
  bool is_measured_ = false;
  uint64_t calls_made_ = 0;
  MeasurementSchedule schedule_;
  const Work* work_ = nullptr;
  int members_ = 0;
  std::atomic<bool> stopping_{false};
  // Threads poll this one: its own cache line, so that no write to a neighbor makes them read it again.
  alignas(64) std::atomic<int> calls_{0};
  // Threads inside the present call, and kClosed once no more may enter.
  alignas(64) std::atomic<int> inside_;
};

}  // namespace cudnn_rnn
