// The resources of a pass: an executor's threads, kernels and memory.
#pragma once

#include <atomic>
#include <cstddef>

#include "kernels/kernels.h"
#include "memory/block_cache.h"
#include "threads/shared_loops.h"
#include "threads/thread_pool.h"

namespace cudnn_rnn {

template <typename T>
struct Engine {
  ThreadPool* pool;
  const KernelTable<T>* kernels;
  BlockCache* blocks;
  // Set from elsewhere to abandon a pass at its next step; its results are then undefined.
  const std::atomic<bool>* canceled;
  // Whether training and dense layers round the factors of their products to bfloat16. float32 only.
  bool rounds_products = false;

  bool rounds() const { return kRoundsProducts && rounds_products; }

  bool is_canceled() const { return canceled != nullptr && canceled->load(std::memory_order_relaxed); }
};

// 2 · weights · rows, as multiplications and additions at the rate of a single row, which reads every weight: each
// weight that is read serves all of several rows, which is twice as fast.
inline double SingleRowOperations(ptrdiff_t rows, double multiply_adds) { return (rows > 1 ? 1 : 2) * multiply_adds; }

// T(m) = operations / (rate · m) + loops · barrier · (m - 1) / (size - 1): the work shrinks with the threads, and the
// wait for the last one grows. For H 128 at B 1 a step of 131,072 multiply-adds takes 2.6 µs on one thread: two threads
// gain if a barrier takes less than 1.3 µs, so a constant would be wrong on one machine or the other.
//
// Threads with which `loops` loops over `operations` multiplications and additions in all end first, as far as is
// known: each takes its share of the work, and all then wait for the last, which the pool has measured for all its
// threads.
template <typename T>
int MembersFor(const ThreadPool& pool, const KernelTable<T>& kernels, double operations, double loops = 1) {
  int best = 1;
  double least = operations / kernels.operations_per_ns;
  for (int members = 2; members <= pool.size(); members++) {
    const double waiting = loops * pool.barrier_ns() * (members - 1) / (pool.size() - 1);
    const double time = operations / (kernels.operations_per_ns * members) + waiting;
    if (time < least) {
      best = members;
      least = time;
    }
  }
  return best;
}

// body(member, index) by `members` threads, which all run the same loops.
template <typename T, typename Body>
void RunLoops(const Engine<T>& engine, int members, const Body& body) {
  SharedLoops loops(members);
  engine.pool->Run(members, [&](int index) {
    SharedLoops::Member member(&loops, index);
    body(member, index);
  });
}

// body(item, index) for all items of one loop.
template <typename T, typename Body>
void RunLoop(const Engine<T>& engine, int members, ptrdiff_t items, const Body& body) {
  RunLoops(engine, members, [&](SharedLoops::Member& member, int index) {
    member.Run(items, [&](ptrdiff_t item) { body(item, index); });
  });
}

}  // namespace cudnn_rnn
