// Waiting for another thread: polling briefly, then sleeping, so that waiting threads leave a busy machine to those
// that work. Prefetching of lines that another thread wrote.
#pragma once

#include <atomic>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace cudnn_rnn {

// About 20 µs: longer than threads that run undisturbed ever wait for each other.
inline constexpr int kSpins = 1 << 10;

// Lets the sibling hyper-thread run, and marks a loop that waits for memory: without the hint, leaving the loop
// costs a pipeline flush for a suspected memory-order violation (Intel SDM vol. 2, PAUSE;
// https://www.felixcloutier.com/x86/pause).
inline void Pause() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__) && !defined(_MSC_VER)
  asm volatile("yield");
#elif defined(__wasm__)
  // WebAssembly has no such instruction. An empty loop of some 20 ns keeps the numbers of polls below meaningful.
  for (int turn = 0; turn < 64; turn++) asm volatile("");
#endif
}

// Begins to bring a cache line near. MSVC has no builtin for both architectures, WebAssembly no such instruction; there
// the compiler removes the loops around this.
#if defined(_MSC_VER) || defined(__wasm__)
inline void Prefetch(const void*) {}
inline void PrefetchToWrite(void*) {}
#else
inline void Prefetch(const void* line) { __builtin_prefetch(line); }
inline void PrefetchToWrite(void* line) { __builtin_prefetch(line, 1); }
#endif

// Polls until value > limit; false after `spins` unsuccessful polls.
template <typename Integer>
bool SpinWhileAtMost(const std::atomic<Integer>& value, Integer limit, int spins) {
  for (int spin = 0; spin < spins; spin++) {
    if (value.load(std::memory_order_acquire) > limit) return true;
    Pause();
  }
  return false;
}

// Polls until value differs from `seen`; false after `spins` unsuccessful polls.
inline bool SpinWhile(const std::atomic<int>& value, int seen, int spins) {
  for (int spin = 0; spin < spins; spin++) {
    if (value.load(std::memory_order_acquire) != seen) return true;
    Pause();
  }
  return false;
}

// Sleeps unless value differs from `seen`; may return early. WakeAll ends the sleep of all threads.
#if defined(__wasm__)
// In native/wasm: the C++ library for WebAssembly without threads polls instead.
void SleepWhile(const std::atomic<int>& value, int seen);
void WakeAll(std::atomic<int>* value);
#elif defined(_WIN32)
// In wait_on_address_windows.cc, with the reason.
void SleepWhile(const std::atomic<int>& value, int seen);
void WakeAll(std::atomic<int>* value);
#else
inline void SleepWhile(const std::atomic<int>& value, int seen) { value.wait(seen, std::memory_order_acquire); }
inline void WakeAll(std::atomic<int>* value) { value->notify_all(); }
#endif

inline void WaitWhileAtMost(const std::atomic<int>& value, int limit) {
  if (SpinWhileAtMost(value, limit, kSpins)) return;
  for (int seen = value.load(std::memory_order_acquire); seen <= limit; seen = value.load(std::memory_order_acquire)) {
    SleepWhile(value, seen);
  }
}

}  // namespace cudnn_rnn
