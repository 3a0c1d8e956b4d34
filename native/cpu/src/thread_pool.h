// The threads that compute, and the barrier at which they meet.
#ifndef CUDNN_RNN_CPU_THREAD_POOL_H_
#define CUDNN_RNN_CPU_THREAD_POOL_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cudnn_rnn {

// Waits until `value` differs from `old`: spins briefly, then sleeps, so that waiting threads leave a busy machine to
// those that work.
void WaitWhileEqual(const std::atomic<int>& value, int old);

// A reusable meeting point of `size` threads.
class Barrier {
 public:
  explicit Barrier(int size) : size_(size) {}

  void Wait() {
    if (size_ == 1) return;
    const int round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      round_.notify_all();
    } else {
      WaitWhileEqual(round_, round);
    }
  }

 private:
  const int size_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<int> round_{0};
};

// One member of a group of threads that run the same function.
struct Team {
  int index;
  int size;
  Barrier* barrier;

  // The part of [0, count) that belongs to this member.
  ptrdiff_t Begin(ptrdiff_t count) const { return count * index / size; }
  ptrdiff_t End(ptrdiff_t count) const { return count * (index + 1) / size; }
  void Wait() const { barrier->Wait(); }
};

// `size` threads, of which the caller of Run is one. One caller at a time.
class ThreadPool {
 public:
  explicit ThreadPool(int size);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  // Runs `work` on `members` threads (at most size()) and returns when all are done. Flushes denormals meanwhile.
  void Run(int members, const std::function<void(Team)>& work);

  // As Run, but on the calling thread alone where another caller has the pool.
  void RunOrAlone(int members, const std::function<void(Team)>& work);

 private:
  void RunLocked(int members, const std::function<void(Team)>& work);
  void Work(int index);

  const int size_;
  std::mutex in_use_;
  std::vector<std::thread> threads_;
  const std::function<void(Team)>* work_ = nullptr;
  int members_ = 0;
  std::unique_ptr<Barrier> barrier_;
  bool stopping_ = false;
  alignas(64) std::atomic<int> generation_{0};
  alignas(64) std::atomic<int> running_{0};
};

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_THREAD_POOL_H_
