// State that the exports of a module share. One instance is one executor: it has one element type and one memory, and
// ends with its memory. JavaScript owns all tensors; an export reads and writes copies of them at addresses that
// JavaScript took from `allocate`.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/kernels.h"
#include "memory/block_cache.h"
#include "threads/engine.h"
#include "threads/thread_pool.h"

// An exported function. The names of packages/wasm/src/wasm_exports.ts are these.
#define CUDNN_RNN_EXPORT(name) extern "C" __attribute__((export_name(#name), visibility("default")))

namespace cudnn_rnn {

struct Module {
  // Pool of the caller's thread and the workers (threads.cc).
  std::unique_ptr<ThreadPool> pool;
  // Blocks of finished passes and consumed tapes.
  BlockCache blocks{size_t{64} << 20};
};

Module& TheModule();

// Null if memory is short.
void* AllocateAligned(size_t bytes, size_t alignment);

// Says with how many threads the module computes, after all have begun `runThread`.
void ExpectThreads(int threads);

// Lets the calling thread wait for others without polling.
void LetCallerSleep();

// Marks the failure as one of memory and traps. JavaScript catches the trap, resets the stack pointer and throws
// ERR_OUT_OF_MEMORY. The operation is lost with the memory that it held: modules are built without exceptions.
[[noreturn]] void OutOfMemory();

// Traps as OutOfMemory does if an operation needs more bytes than addresses of 32 bits reach. Sizes are computed in
// double, as a product of theirs may not fit ptrdiff_t.
inline void CheckBytes(double bytes) {
  constexpr double kMostBytes = 4.0e9;
  if (!(bytes < kMostBytes)) OutOfMemory();
}

// A module computes in one element type. A page loads the kernels of the type that it uses, half of all.
#if defined(CUDNN_RNN_FLOAT64)
using Element = double;
inline constexpr const KernelTable<Element>& kWasmKernels = kWasmFloat64Kernels;
#else
using Element = float;
inline constexpr const KernelTable<Element>& kWasmKernels = kWasmFloat32Kernels;
#endif

inline Engine<Element> TheEngine() {
  Module& module = TheModule();
  return {module.pool.get(), &kWasmKernels, &module.blocks, nullptr};
}

}  // namespace cudnn_rnn
