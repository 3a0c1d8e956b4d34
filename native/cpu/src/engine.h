// What computes a pass: an executor's threads, kernels and memory.
#ifndef CUDNN_RNN_CPU_ENGINE_H_
#define CUDNN_RNN_CPU_ENGINE_H_

#include <algorithm>
#include <atomic>

#include "kernels.h"
#include "memory_block.h"
#include "thread_pool.h"

namespace cudnn_rnn {

template <typename T>
struct Engine {
  ThreadPool* pool;
  const KernelTable<T>* kernels;
  BlockCache* blocks;
  // Set from elsewhere to abandon a pass at its next step; its results are then undefined.
  const std::atomic<bool>* cancelled;

  bool is_cancelled() const { return cancelled != nullptr && cancelled->load(std::memory_order_relaxed); }
};

// A step with fewer operations is done before a second thread has arrived.
inline constexpr double kOperationsPerMember = 30e3;

// Threads worth waking for a step of `operations` multiplications and additions.
inline int MembersFor(const ThreadPool& pool, double operations) {
  return std::clamp(static_cast<int>(operations / kOperationsPerMember), 1, pool.size());
}

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_ENGINE_H_
