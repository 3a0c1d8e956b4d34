#include "module.h"

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

namespace cudnn_rnn {
namespace {

// Made by `_initialize`: a variable of a function would be guarded by locks of the C++ library.
Module the_module;

bool out_of_memory = false;

constexpr size_t kCacheLine = 64;

// The library's functions of the heap are made for one thread. They are called here only.
std::mutex heap_in_use;

void Free(void* memory) {
  const std::lock_guard<std::mutex> lock(heap_in_use);
  std::free(memory);
}

// Milliseconds that never fall, of this thread. JavaScript gives the function.
__attribute__((import_module("env"), import_name("now"))) extern "C" double Now();

}  // namespace

void* AllocateAligned(size_t bytes, size_t alignment) {
  const std::lock_guard<std::mutex> lock(heap_in_use);
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

Module& TheModule() { return the_module; }

void OutOfMemory() {
  out_of_memory = true;
  __builtin_trap();
}

// threads: the caller's and the workers' that have called `runThread`. may_sleep: whether the caller may wait for
// them without polling.
CUDNN_RNN_EXPORT(open) void Open(int threads, bool may_sleep) {
  ExpectThreads(threads);
  if (may_sleep) LetCallerSleep();
  TheModule().pool = std::make_unique<ThreadPool>(threads);
}

CUDNN_RNN_EXPORT(elementBytes) int ElementBytes() { return sizeof(Element); }

// Whether the last trap was OutOfMemory; reading it clears the mark.
CUDNN_RNN_EXPORT(takeOutOfMemory) bool TakeOutOfMemory() {
  const bool was = out_of_memory;
  out_of_memory = false;
  return was;
}

// Memory for operands; 0 if there is none. The argument is a double, as JavaScript's sizes may be beyond 32 bits.
CUDNN_RNN_EXPORT(allocate) void* Allocate(double bytes) {
  constexpr double kMostBytes = 4.0e9;
  if (!(bytes < kMostBytes)) return nullptr;
  return AllocateAligned(static_cast<size_t>(bytes), kCacheLine);
}

CUDNN_RNN_EXPORT(release) void Release(void* memory) { Free(memory); }

}  // namespace cudnn_rnn

// The library's own would bring printf for the message of a failure, and with it imports that write to a console.
void* operator new(size_t bytes) {
  void* memory = cudnn_rnn::AllocateAligned(bytes, alignof(std::max_align_t));
  if (memory == nullptr) cudnn_rnn::OutOfMemory();
  return memory;
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  void* memory = cudnn_rnn::AllocateAligned(bytes, static_cast<size_t>(alignment));
  if (memory == nullptr) cudnn_rnn::OutOfMemory();
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new[](size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
void operator delete(void* memory) noexcept { cudnn_rnn::Free(memory); }
void operator delete(void* memory, size_t) noexcept { cudnn_rnn::Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { cudnn_rnn::Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { cudnn_rnn::Free(memory); }
void operator delete[](void* memory) noexcept { cudnn_rnn::Free(memory); }
void operator delete[](void* memory, size_t) noexcept { cudnn_rnn::Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { cudnn_rnn::Free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { cudnn_rnn::Free(memory); }

// The library's own would read the system's time, and print a message if that fails.
std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
  return time_point(nanoseconds(static_cast<int64_t>(cudnn_rnn::Now() * 1e6)));
}

_LIBCPP_BEGIN_NAMESPACE_STD
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) noexcept { __builtin_trap(); }
_LIBCPP_END_NAMESPACE_STD
