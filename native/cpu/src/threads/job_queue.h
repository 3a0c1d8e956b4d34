// The thread on which an executor's calls run, in the order they were made.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

namespace cudnn_rnn {

// JavaScript pushes, one thread runs. Operations of one executor never overlap: each may read results of the previous
// one, and each uses the whole pool.
class JobQueue {
 public:
  // `notify` is called on the queue's thread when an awaited job or the last one queued is done.
  explicit JobQueue(std::function<void()> notify);
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  // Returns the job's number; numbers grow by one.
  uint64_t Push(std::function<void()> job);

  // Runs the job before it returns if nothing is queued or at work, else as Push: for jobs that take less time than
  // waking a thread. Returns 0 for a job that ran without failing. One thread only may push.
  uint64_t RunOrPush(std::function<void()> job);

  // The number of the last job that is done; all before it are.
  uint64_t completed() const { return completed_.load(std::memory_order_acquire); }

  // Requests a notification when job `number` is done. False when it already is.
  bool Await(uint64_t number);

  // Blocks until job `number` is done.
  void Wait(uint64_t number) const;

  // Why a job ended early; an empty message if it did not.
  struct Failure {
    std::string message;
    bool is_out_of_memory = false;
  };
  Failure FailureOf(uint64_t number);

  // Drops queued jobs, sets `canceled` for the job at work, and joins the thread. Idempotent.
  void Stop();
  const std::atomic<bool>& canceled() const { return canceled_; }

 private:
  struct Job {
    uint64_t number;
    std::function<void()> run;
  };

  // Ends a wait of the queue's thread. Without the lock, so that the thread need not wait for it.
  void Announce();
  // The next job; false if there is none.
  bool Take(Job* job);
  void Work();
  // Runs the job and stores its exception; whether it had none.
  bool Run(Job* job);

  const std::function<void()> notify_;
  std::mutex mutex_;
  // Guarded by mutex_, as is failures_.
  std::deque<Job> jobs_;
  std::unordered_map<uint64_t, Failure> failures_;
  // Number of the last job pushed or run at once. Written by JavaScript's thread.
  std::atomic<uint64_t> last_{0};
  // Changes after each push, and at the end. The queue's thread polls it, then sleeps for it. A condition variable
  // makes the two threads meet at the lock, where those of mingw-w64 sleep: on a busy machine one push in ten took 8 to
  // 16 ms under wine.
  std::atomic<int> pushes_{0};
  // Released by the thread that ran the job, acquired by readers: results are visible to a thread that sees the number.
  std::atomic<uint64_t> completed_{0};
  // The smallest number that a promise waits for. See Await() for the order of the two.
  std::atomic<uint64_t> awaited_{UINT64_MAX};
  std::atomic<bool> canceled_{false};
  std::thread thread_;
};

}  // namespace cudnn_rnn
