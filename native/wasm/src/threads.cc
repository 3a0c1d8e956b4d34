// Threads of a module: workers of JavaScript, each with an instance over the same memory and its own stack.
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "module.h"
#include "threads/spin_wait.h"

namespace cudnn_rnn {
namespace {

constexpr int kMostThreads = 256;

struct ThreadBody {
  std::thread::Call call;
  void* body;
};

ThreadBody bodies[kMostThreads];
// Threads of the pool that have a body.
std::atomic<int> started{0};
std::atomic<bool> a_thread_failed{false};

// May this thread sleep? The main thread of a page may not.
enum class Sleep { kNever, kBriefly, kUntilWoken };
thread_local Sleep sleep = Sleep::kNever;

// The caller looks this often whether a thread has failed: such a thread wakes no other.
constexpr int64_t kCallerSleepNs = 50'000'000;

void TrapIfThreadFailed() {
  if (a_thread_failed.load(std::memory_order_relaxed)) __builtin_trap();
}

}  // namespace

void SleepWhile(const std::atomic<int>& value, int seen) {
  TrapIfThreadFailed();
  if (sleep == Sleep::kNever) return;
  auto* address = reinterpret_cast<int*>(const_cast<std::atomic<int>*>(&value));
  __builtin_wasm_memory_atomic_wait32(address, seen, sleep == Sleep::kBriefly ? kCallerSleepNs : -1);
}

void WakeAll(std::atomic<int>* value) { __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(value), ~0u); }

void ExpectThreads(int threads) { std::mutex::are_needed = threads > 1; }

void LetCallerSleep() { sleep = Sleep::kBriefly; }

// Made by the linker: the initial values of thread-local variables, copied to `block`.
extern "C" void __wasm_init_tls(void* block);

// The life of a worker: the body of the `index`-th thread, which the pool starts when it is made.
CUDNN_RNN_EXPORT(runThread) void RunThread(int index) {
  __wasm_init_tls(AllocateAligned(__builtin_wasm_tls_size(), __builtin_wasm_tls_align()));
  sleep = Sleep::kUntilWoken;
  WaitWhileAtMost(started, index);
  bodies[index].call(bodies[index].body);
}

// The code of a thread has trapped. Operations that wait for it trap too.
CUDNN_RNN_EXPORT(markThreadFailed) void MarkThreadFailed() { a_thread_failed = true; }

// After a trap of the caller: whether other threads may still be inside the operation, or a lock is held.
CUDNN_RNN_EXPORT(isInterrupted) bool IsInterrupted() { return a_thread_failed || std::mutex::held != 0; }

}  // namespace cudnn_rnn

bool std::mutex::are_needed = true;
std::atomic<int> std::mutex::held{0};

void std::mutex::CheckThreads() { cudnn_rnn::TrapIfThreadFailed(); }

void std::thread::Start(Call call, void* body) {
  using cudnn_rnn::started;
  cudnn_rnn::bodies[started.load()] = {call, body};
  started.fetch_add(1, std::memory_order_release);
  cudnn_rnn::WakeAll(&started);
}
