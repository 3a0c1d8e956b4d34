// State that the objects of one executor share and keep alive: the threads, the kernels and the memory.
#pragma once

#include <memory>

#include "memory/block_cache.h"
#include "threads/engine.h"
#include "threads/thread_pool.h"

namespace cudnn_rnn {

struct ExecutorCore {
  ExecutorCore(const Kernels* kernels, int threads, bool is_double, bool rounds_products)
      : kernels(kernels), is_double(is_double), rounds_products(rounds_products), pool(threads) {}

  // Static tables, never freed.
  const Kernels* kernels;
  const bool is_double;
  const bool rounds_products;  // of training and dense layers, to bfloat16
  ThreadPool pool;
  // Scratch memory and tapes of passes. Blocks return before the core ends, as every holder keeps a share of it.
  BlockCache blocks;
  // Memory of results that JavaScript has let go of. It may outlive the executor.
  const std::shared_ptr<BlockCache> results = std::make_shared<BlockCache>(kKeptResultBytes, kKeptResults);

  // The largest call that runs on JavaScript's thread: half a millisecond. Waking another thread and being woken by it
  // takes a tenth of that, by which an awaited result would be later.
  double brief_operations() const {
    const double rate = is_double ? kernels->f64.operations_per_ns : kernels->f32.operations_per_ns;
    return kBriefNs * rate * pool.size();
  }

  static constexpr double kBriefNs = 500e3;
  // Its largest result. Node.js lets go of results when the event loop turns, which calls that are done at once do not
  // await: the next ones take fresh pages, of which so many take longer than waking the other thread.
  static constexpr size_t kBriefResultBytes = size_t{256} << 10;
  static constexpr size_t kKeptResultBytes = size_t{128} << 20;
  // The collector returns all results since its last run at once: some 20 of 2 MB.
  static constexpr size_t kKeptResults = 64;

  // A view for one operation; valid while the core lives.
  template <typename T>
  Engine<T> engine(const std::atomic<bool>* canceled = nullptr) {
    if constexpr (sizeof(T) == sizeof(float)) {
      return {&pool, &kernels->f32, &blocks, canceled, rounds_products};
    } else {
      return {&pool, &kernels->f64, &blocks, canceled};
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
  // body(value) of the one that exists.
  template <typename Body>
  auto Visit(const Body& body) const {
    return f64 == nullptr ? body(*f32) : body(*f64);
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
