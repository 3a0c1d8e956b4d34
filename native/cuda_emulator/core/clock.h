#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace emulator {

/// A point in the work of one stream: its `sequence`-th operation.
struct Moment {
  std::uint32_t stream = 0;
  std::uint64_t sequence = 0;
};

/// A vector clock: for each stream, the last operation known to come before. Two operations of which neither clock
/// holds the other's moment are unordered, in any order of execution.
class Clock {
 public:
  void Join(const Clock& other) {
    for (const auto& [stream, sequence] : other.times_) Advance({stream, sequence});
  }

  void Advance(Moment moment) {
    std::uint64_t& time = times_[moment.stream];
    time = std::max(time, moment.sequence);
  }

  bool Holds(Moment moment) const {
    const auto found = times_.find(moment.stream);
    return found != times_.end() && found->second >= moment.sequence;
  }

 private:
  std::map<std::uint32_t, std::uint64_t> times_;
};

}  // namespace emulator
