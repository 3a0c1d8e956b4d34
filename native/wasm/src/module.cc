#include "module.h"

#include <sched.h>
#include <time.h>

#include <cstdlib>
#include <new>

namespace cudnn_rnn {
namespace {

bool out_of_memory = false;

constexpr size_t kCacheLine = 64;

void* AllocateAligned(size_t bytes, size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

}  // namespace

Module& TheModule() {
  static Module module;
  return module;
}

void OutOfMemory() {
  out_of_memory = true;
  __builtin_trap();
}

CUDNN_RNN_EXPORT(open) void Open(bool is_double) { TheModule().is_double = is_double; }

// Whether the last trap was OutOfMemory; asking clears the mark.
CUDNN_RNN_EXPORT(takeOutOfMemory) bool TakeOutOfMemory() {
  const bool was = out_of_memory;
  out_of_memory = false;
  return was;
}

// Memory for operands; 0 where there is none. The argument is a double, as JavaScript's sizes may be beyond 32 bits.
CUDNN_RNN_EXPORT(allocate) void* Allocate(double bytes) {
  constexpr double kMostBytes = 4.0e9;
  if (!(bytes < kMostBytes)) return nullptr;
  return AllocateAligned(static_cast<size_t>(bytes), kCacheLine);
}

CUDNN_RNN_EXPORT(release) void Release(void* memory) { std::free(memory); }

}  // namespace cudnn_rnn

// The library's own would bring printf for the message of a failure, and with it imports that write to a console.
void* operator new(size_t bytes) {
  void* memory = std::malloc(bytes);
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
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

// SharedLoops can wait for another thread, which polls the clock in a library without threads. A module has one thread
// and never waits: with these functions it imports nothing.
int sched_yield() { return 0; }
int nanosleep(const timespec*, timespec*) { return 0; }
int clock_nanosleep(clockid_t, int, const timespec*, timespec*) { return 0; }
int clock_gettime(clockid_t, timespec* now) {
  *now = {};
  return 0;
}

_LIBCPP_BEGIN_NAMESPACE_STD
[[noreturn]] void __libcpp_verbose_abort(const char*, ...) noexcept { __builtin_trap(); }
_LIBCPP_END_NAMESPACE_STD
