#pragma once

#include <cstddef>

namespace cudnn_rnn {

// Carves consecutive parts out of one block of memory. An arena over null only measures: a function that takes all its
// parts from an arena runs twice, first to learn the size of the block and then to place the parts in it.
class Arena {
 public:
  explicit Arena(char* data) : data_(data) {}

  // Room for `count` elements; null while measuring. Every part begins a separate cache line: vector loads then never
  // straddle two lines, and threads that write neighboring parts do not invalidate each other's lines.
  template <typename T>
  T* Take(ptrdiff_t count) {
    T* part = data_ == nullptr ? nullptr : reinterpret_cast<T*>(data_ + used_);
    used_ += (static_cast<size_t>(count) * sizeof(T) + kCacheLine - 1) / kCacheLine * kCacheLine;
    return part;
  }
  size_t used() const { return used_; }

 private:
  static constexpr size_t kCacheLine = 64;

  char* data_;
  size_t used_ = 0;
};

}  // namespace cudnn_rnn
