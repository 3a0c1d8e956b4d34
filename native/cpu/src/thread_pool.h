// The threads that compute.
#ifndef CUDNN_RNN_CPU_THREAD_POOL_H_
#define CUDNN_RNN_CPU_THREAD_POOL_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cudnn_rnn {

// `size` threads, of which the caller of Run is one.
class ThreadPool {
 public:
  explicit ThreadPool(int size);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  // Runs work(0) here and work(1…members-1) on the other threads as far as they arrive before work(0) is over: the work
  // must not need them (shared_loops.h). Denormals are flushed meanwhile.
  void Run(int members, const std::function<void(int)>& work);

  // As Run, but on the calling thread alone where another caller has the pool.
  void RunOrAlone(int members, const std::function<void(int)>& work);

 private:
  void RunLocked(int members, const std::function<void(int)>& work);
  void Work(int index);

  const int size_;
  std::mutex in_use_;
  std::vector<std::thread> threads_;
  const std::function<void(int)>* work_ = nullptr;
  int members_ = 0;
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<int> calls_{0};
  // Threads inside the present call, and kClosed once no more may enter.
  alignas(64) std::atomic<int> inside_;
};

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_THREAD_POOL_H_
