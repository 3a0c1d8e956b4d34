#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/cudnn_objects.h"

namespace emulator {

/// A batch of sequences: where the vector of batch entry b at time t is, in the caller's buffers and in our own.
///
/// Our own arrays are compact: the steps of sequence 0, then of sequence 1, …; S rows in all.
class Sequences {
 public:
  explicit Sequences(const RnnDataDescriptor& data)
      : time(static_cast<std::size_t>(data.time)),
        lengths(data.lengths.begin(), data.lengths.end()),
        layout_(data.layout) {
    for (const std::size_t length : lengths) {
      starts_.push_back(rows);
      rows += length;
    }
    for (std::size_t t = 0; t < time; ++t) {
      packed_.push_back(t == 0 ? 0 : packed_.back() + Alive(t - 1));
    }
  }

  std::size_t Batch() const { return lengths.size(); }

  /// Row of (b, t) in compact arrays.
  std::size_t Row(std::size_t b, std::size_t t) const { return starts_[b] + t; }

  /// Vector of (b, t) in the caller's buffer.
  std::size_t Vector(std::size_t b, std::size_t t) const {
    switch (layout_) {
      case CUDNN_SEQ_MAJOR_PACKED: return packed_[t] + b;
      case CUDNN_BATCH_MAJOR_UNPACKED: return b * time + t;
      default: return t * Batch() + b;
    }
  }

  /// Vectors in the caller's buffer, padding included.
  std::size_t Vectors() const { return layout_ == CUDNN_SEQ_MAJOR_PACKED ? rows : time * Batch(); }

  const std::size_t time;
  const std::vector<std::size_t> lengths;
  std::size_t rows = 0;

 private:
  // Sequences that have a step t.
  std::size_t Alive(std::size_t t) const {
    return static_cast<std::size_t>(
        std::count_if(lengths.begin(), lengths.end(), [t](std::size_t length) { return length > t; }));
  }

  int layout_;
  std::vector<std::size_t> starts_;
  std::vector<std::size_t> packed_;
};

}  // namespace emulator
