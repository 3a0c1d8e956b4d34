// The threads that compute.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace cudnn_rnn {

// `size` threads, of which the caller of Run is one.
class ThreadPool {
 public:
  // What the threads do, called with their number: a reference, for a call to allocate nothing.
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

  explicit ThreadPool(int size);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  // Nanoseconds that all threads take to end a loop of shared_loops.h together, at best, measured when the pool was
  // made: a fraction of a microsecond within a processor, several between distant cores. 0 for one thread.
  double meeting_ns() const { return meeting_ns_; }

  // Runs work(0) here and work(1…members-1) on the other threads as far as they arrive before work(0) is over: the work
  // must not need them (shared_loops.h). Denormals are flushed meanwhile.
  void Run(int members, const Work& work);

  // As Run, but on the calling thread alone where another caller has the pool.
  void RunOrAlone(int members, const Work& work);

 private:
  double MeasureMeeting();
  void RunLocked(int members, const Work& work);
  void Serve(int index);

  const int size_;
  std::mutex in_use_;
  std::vector<std::thread> threads_;
  double meeting_ns_ = 0;
  const Work* work_ = nullptr;
  int members_ = 0;
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<int> calls_{0};
  // Threads inside the present call, and kClosed once no more may enter.
  alignas(64) std::atomic<int> inside_;
};

}  // namespace cudnn_rnn
