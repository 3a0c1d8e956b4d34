#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulator {

/// A point in the work of one stream: its `sequence`-th operation, from 1.
struct Moment {
  std::uint32_t stream = 0;
  std::uint64_t sequence = 0;
};

/// A vector clock: for each stream, the last operation known to come before. Two operations of which neither clock
/// holds the other's moment are unordered, in any order of execution.
class Clock {
 public:
  void Join(const Clock& other) {
    if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
    for (std::size_t stream = 0; stream < other.times_.size(); ++stream) {
      times_[stream] = std::max(times_[stream], other.times_[stream]);
    }
  }

  void Advance(Moment moment) {
    if (times_.size() <= moment.stream) times_.resize(moment.stream + 1);
    times_[moment.stream] = std::max(times_[moment.stream], moment.sequence);
  }

  bool Holds(Moment moment) const {
    return moment.stream < times_.size() && times_[moment.stream] >= moment.sequence;
  }

 private:
  // By the streams' ids, which are consecutive numbers. Each operation copies and joins clocks, in a process that may
  // have made thousands of streams: a tree took a quarter of the time of the conformance tests.
  std::vector<std::uint64_t> times_;
};

}  // namespace emulator
