// The rates of this machine that bound a recurrent pass: multiply-adds from registers, reading of matrices of several
// sizes, and a barrier of all threads. apps/bench builds it with the flags of an instruction set, and derives the
// rooflines of its cells (Williams, Waterman and Patterson 2009, "Roofline: An Insightful Visual Performance Model for
// Multicore Architectures") from the object that `machine_rates THREADS` prints:
//   {"gflops": [one thread, all], "reads": [{"bytes": n, "gigabytes": [one thread, all]}, …], "barrierNs": n}
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#define VECTOR_REGISTER "v"
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#define VECTOR_REGISTER "x"
#elif defined(__x86_64__)
constexpr int kLanes = 4;
#define VECTOR_REGISTER "x"
#else
constexpr int kLanes = 4;
#define VECTOR_REGISTER "w"
#endif

typedef float Vector __attribute__((vector_size(4 * kLanes)));

// Two to four multiply-adds begin each cycle and take four: 12 sums fill 16 registers, 24 fill 32.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kSums = 24;
#else
constexpr int kSums = 12;
#endif
constexpr size_t kSmallestRead = size_t{64} << 10;
constexpr size_t kLargestRead = size_t{128} << 20;
constexpr size_t kHugePage = size_t{2} << 20;
// Matrices are read block by block, forwards and backwards in turns, so that the end of one reading is the beginning of
// the next and still in the cache.
constexpr size_t kBlockBytes = size_t{16} << 10;
// Distances of software prefetches in bytes; 0 leaves the reading to the hardware prefetcher. The best one counts.
constexpr size_t kPrefetchDistances[] = {0, 512, 2048};
constexpr int kRounds = 5;
// A virtual processor may give another one the core for some milliseconds: many short rounds, of which the best counts.
constexpr double kRoundSeconds = 0.004;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// For the compiler a use of `value` and a change of it, so that it neither drops a computation nor merges equal ones.
void Keep(Vector& value) { asm volatile("" : "+" VECTOR_REGISTER(value)); }

// A separate processor for each thread: left to the system, new threads share one for milliseconds.
void Pin(int thread) {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int cpu = 0, place = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed) || place++ != thread) continue;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cpu, &own);
    sched_setaffinity(0, sizeof own, &own);
    return;
  }
#else
  static_cast<void>(thread);
#endif
}

// Threads that synchronize: each announces its arrival in a separate cache line and polls the others'.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads), arrivals_(std::make_unique<Arrivals[]>(threads)) {}

  void Arrive(int thread, uint64_t number) {
    arrivals_[thread].count.store(number, std::memory_order_release);
    for (int other = 0; other < threads_; other++) {
      while (arrivals_[other].count.load(std::memory_order_acquire) < number) {
      }
    }
  }

 private:
  struct alignas(64) Arrivals {
    std::atomic<uint64_t> count{0};
  };
  const int threads_;
  const std::unique_ptr<Arrivals[]> arrivals_;
};

// Seconds in which all threads have run `work(thread, times)`: the least of some rounds, divided by `times`, which
// grows until a round is long enough.
double SecondsOf(int threads, const std::function<void(int, uint64_t)>& work) {
  for (uint64_t times = 1;; times *= 2) {
    double best = 1e9;
    for (int round = 0; round < kRounds; round++) {
      Barrier barrier(threads);
      std::vector<double> began(threads), ended(threads);
      const auto run = [&](int thread) {
        work(thread, 1);  // Fills the caches.
        barrier.Arrive(thread, 1);
        began[thread] = Now();
        work(thread, times);
        ended[thread] = Now();
      };
      std::vector<std::thread> running;
      for (int thread = 0; thread < threads; thread++) {
        running.emplace_back([&run, thread] {
          Pin(thread);
          run(thread);
        });
      }
      for (std::thread& thread : running) thread.join();
      best =
          std::min(best, *std::max_element(ended.begin(), ended.end()) - *std::min_element(began.begin(), began.end()));
      if (best < kRoundSeconds / 2) break;
    }
    if (best >= kRoundSeconds / 2) return best / static_cast<double>(times);
  }
}

// x ← x·a + b in kSums independent chains.
void MultiplyAdd(uint64_t times) {
  const Vector a = Vector{} + 0.5f, b = Vector{} + 1.0f;
  Vector sums[kSums] = {};
#pragma GCC unroll 24
  for (int i = 0; i < kSums; i++) Keep(sums[i]);
  for (uint64_t k = 0; k < times * 1000; k++) {
#pragma GCC unroll 24
    for (int i = 0; i < kSums; i++) sums[i] = sums[i] * a + b;
  }
#pragma GCC unroll 24
  for (int i = 0; i < kSums; i++) Keep(sums[i]);
}

double Gflops(int threads) {
  const double seconds = SecondsOf(threads, [](int, uint64_t times) { MultiplyAdd(times); });
  return 2.0 * kSums * kLanes * 1000 * threads / seconds / 1e9;
}

template <bool kPrefetches>
Vector SumOfBlock(const Vector* p, size_t vectors, size_t ahead) {
  constexpr size_t kChains = 8;
  Vector sums[kChains] = {};
  for (size_t k = 0; k < vectors; k += kChains) {
    if constexpr (kPrefetches) {
      for (size_t line = 0; line < kChains * sizeof(Vector); line += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(p + k) + ahead + line);
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < kChains; i++) sums[i] += p[k + i];
  }
  for (size_t i = 1; i < kChains; i++) sums[0] += sums[i];
  return sums[0];
}

// Reads `bytes` from `data` on `times` times, in alternating directions.
void Read(const char* data, size_t bytes, uint64_t times, size_t ahead) {
  const size_t blocks = bytes / kBlockBytes;
  constexpr size_t kVectors = kBlockBytes / sizeof(Vector);
  for (uint64_t k = 0; k < times; k++) {
    for (size_t block = 0; block < blocks; block++) {
      const size_t place = k % 2 == 0 ? block : blocks - 1 - block;
      const Vector* p = reinterpret_cast<const Vector*>(data + place * kBlockBytes);
      Vector sum = ahead == 0 ? SumOfBlock<false>(p, kVectors, 0) : SumOfBlock<true>(p, kVectors, ahead);
      Keep(sum);
    }
  }
}

// GB/s at which `threads` threads together read a matrix of `bytes`, each its own part.
double ReadRate(int threads, size_t bytes, const char* data) {
  const size_t part = bytes / static_cast<size_t>(threads) / kBlockBytes * kBlockBytes;
  double best = 0;
  for (const size_t ahead : kPrefetchDistances) {
    const double seconds = SecondsOf(threads, [&](int thread, uint64_t times) {
      Read(data + static_cast<size_t>(thread) * part, part, times, ahead);
    });
    best = std::max(best, static_cast<double>(part) * threads / seconds / 1e9);
  }
  return best;
}

double BarrierNs(int threads) {
  if (threads == 1) return 0;
  constexpr uint64_t kBarriers = 100;
  double best = 1e9;
  for (int round = 0; round < 5; round++) {
    Barrier barrier(threads);
    // The work is not run again to fill caches: the numbers of a barrier only grow.
    std::vector<uint64_t> numbers(static_cast<size_t>(threads), 0);
    const double seconds = SecondsOf(threads, [&](int thread, uint64_t times) {
      uint64_t number = numbers[thread];
      for (uint64_t k = 0; k < times * kBarriers; k++) barrier.Arrive(thread, ++number);
      numbers[thread] = number;
    });
    best = std::min(best, seconds / kBarriers * 1e9);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  // Huge pages if the system gives them: with small ones 8 MiB were read 2 % slower.
  char* data = static_cast<char*>(std::aligned_alloc(kHugePage, kLargestRead));
  if (data == nullptr) return 1;
#if defined(__linux__)
  madvise(data, kLargestRead, MADV_HUGEPAGE);
#endif
  // Written once, as pages that were never written all share one page of zeros.
  std::fill_n(data, kLargestRead, char{0});
  std::printf("{\"gflops\": [%.1f, %.1f], \"reads\": [", Gflops(1), Gflops(threads));
  for (size_t bytes = kSmallestRead; bytes <= kLargestRead; bytes *= 2) {
    std::printf("%s{\"bytes\": %zu, \"gigabytes\": [%.1f, %.1f]}", bytes == kSmallestRead ? "" : ", ", bytes,
                ReadRate(1, bytes, data), ReadRate(threads, bytes, data));
  }
  std::printf("], \"barrierNs\": %.0f}\n", BarrierNs(threads));
  std::free(data);
}
