#include "threads/job_queue.h"

#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "threads/spin_wait.h"

namespace cudnn_rnn {
namespace {

// Some 60 µs: a caller that awaits one result usually requests the next one soon, and waking this thread takes as long.
constexpr int kPolls = 3 * kSpins;

}  // namespace

JobQueue::JobQueue(std::function<void()> notify) : notify_(std::move(notify)), thread_([this] { Work(); }) {}

JobQueue::~JobQueue() { Stop(); }

// The number is assigned under the lock, so numbers and the queue have one order.
uint64_t JobQueue::Push(std::function<void()> job) {
  uint64_t number;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    number = ++last_;
    jobs_.push_back({number, std::move(job)});
  }
  Announce();
  return number;
}

uint64_t JobQueue::RunOrPush(std::function<void()> run) {
  // Nothing queued and nothing running. Only JavaScript's thread pushes, so this cannot change before the job has run.
  if (canceled_ || completed() != last_) return Push(std::move(run));
  Job job{++last_, std::move(run)};
  const bool succeeded = Run(&job);
  completed_.store(job.number);
  return succeeded ? 0 : job.number;
}

bool JobQueue::Await(uint64_t number) {
  if (completed() >= number) return false;
  uint64_t awaited = awaited_.load();
  // awaited_ becomes the minimum of itself and `number`: one notification serves all waiters up to it.
  while (number < awaited && !awaited_.compare_exchange_weak(awaited, number)) {
  }
  // Done meanwhile: its completion may have looked before the number was stored.
  return completed_.load() < number;
}

void JobQueue::Wait(uint64_t number) const {
  // Rare: a stream that steps while its parameters are being updated. Polling costs the queue nothing otherwise.
  while (completed() < number && !canceled_) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

JobQueue::Failure JobQueue::FailureOf(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  // Failures stay in the table: they are rare, and several promises may request one.
  const auto found = failures_.find(number);
  return found == failures_.end() ? Failure{} : found->second;
}

// The running job ends early: it reads `canceled` between the items of its loops. A thread cannot be killed while
// it writes to JavaScript's memory.
void JobQueue::Stop() {
  std::deque<Job> dropped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    canceled_ = true;
    // Destroyed after the lock: jobs release JavaScript references and memory.
    dropped.swap(jobs_);
  }
  Announce();
  if (thread_.joinable()) thread_.join();
}

bool JobQueue::Run(Job* job) {
  Failure failure;
  try {
    job->run();
  } catch (const std::bad_alloc&) {
    // std::bad_alloc has no useful text; the flag selects the error code in JavaScript.
    failure = {"no memory", true};
  } catch (const std::exception& error) {
    failure = {error.what(), false};
  }
  // Releases the job's operands before it counts as done, so a waiter that frees memory next finds it free.
  job->run = nullptr;
  if (failure.message.empty()) return true;
  std::lock_guard<std::mutex> lock(mutex_);
  failures_[job->number] = failure;
  return false;
}

void JobQueue::Announce() {
  pushes_.fetch_add(1, std::memory_order_release);
  WakeAll(&pushes_);
}

bool JobQueue::Take(Job* job) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (jobs_.empty()) return false;
  *job = std::move(jobs_.front());
  jobs_.pop_front();
  return true;
}

// Body of the thread. Jobs run one at a time and in order, as later operations read the results of earlier ones; a job
// itself divides its work among the threads of the pool.
void JobQueue::Work() {
  for (;;) {
    // Read before the queue and the end: a push or a stop after this look differs from it.
    const int seen = pushes_.load(std::memory_order_acquire);
    if (canceled_) return;
    Job job;
    if (!Take(&job)) {
      if (!SpinWhile(pushes_, seen, kPolls)) SleepWhile(pushes_, seen);
      continue;
    }
    Run(&job);
    // Sequentially consistent, as is Await: either Await sees this number, or the comparison below sees the awaited
    // one.
    completed_.store(job.number);
    if (job.number >= awaited_.load()) {
      awaited_.store(UINT64_MAX);
      notify_();
    } else if (job.number == last_.load()) {
      // The queue is empty: JavaScript releases the arguments of finished jobs without a later call.
      notify_();
    }
  }
}

}  // namespace cudnn_rnn
