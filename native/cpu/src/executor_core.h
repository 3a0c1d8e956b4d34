// What an executor's objects share and keep alive: the threads, the kernels and the memory.
#ifndef CUDNN_RNN_CPU_EXECUTOR_CORE_H_
#define CUDNN_RNN_CPU_EXECUTOR_CORE_H_

#include "engine.h"
#include "memory_block.h"
#include "thread_pool.h"

namespace cudnn_rnn {

struct ExecutorCore {
  ExecutorCore(const Kernels* kernels, int threads, bool is_double)
      : kernels(kernels), is_double(is_double), pool(threads) {}

  const Kernels* kernels;
  const bool is_double;
  ThreadPool pool;
  BlockCache blocks;

  template <typename T>
  Engine<T> engine(const std::atomic<bool>* cancelled = nullptr) {
    if constexpr (sizeof(T) == sizeof(float)) {
      return {&pool, &kernels->f32, &blocks, cancelled};
    } else {
      return {&pool, &kernels->f64, &blocks, cancelled};
    }
  }
};

// A value that exists in one of the two element types.
template <template <typename> class Value>
struct OfEitherType {
  std::shared_ptr<Value<float>> f32;
  std::shared_ptr<Value<double>> f64;

  template <typename T>
  const std::shared_ptr<Value<T>>& get() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return f32;
    } else {
      return f64;
    }
  }
  template <typename T>
  void set(std::shared_ptr<Value<T>> value) {
    if constexpr (sizeof(T) == sizeof(float)) {
      f32 = std::move(value);
    } else {
      f64 = std::move(value);
    }
  }
};

}  // namespace cudnn_rnn

#endif  // CUDNN_RNN_CPU_EXECUTOR_CORE_H_
