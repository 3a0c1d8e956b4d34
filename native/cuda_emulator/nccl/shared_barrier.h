#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace emulator {

/// Memory that the ranks of a communicator share, in one process or in several. The rank that arrives last removes its
/// name, so that nothing stays behind when the processes end.
class SharedBarrier {
 public:
  static constexpr int kMostRanks = 8;
  static constexpr std::size_t kSlotBytes = 1 << 16;

  /// Throws std::runtime_error.
  SharedBarrier(const std::string& name, int size);
  ~SharedBarrier();
  SharedBarrier(const SharedBarrier&) = delete;
  SharedBarrier& operator=(const SharedBarrier&) = delete;

  /// Waits for all ranks; false if this one was aborted meanwhile.
  bool Wait();
  void Abort() { aborted_ = true; }
  /// What rank `rank` has written before the last barrier.
  std::uint8_t* Slot(int rank) const;

 private:
  struct Shared {
    std::atomic<std::uint64_t> arrived;
  };
  const std::string name_;
  const int size_;
  std::uint64_t waits_ = 0;
  std::atomic<bool> aborted_{false};
  std::uint8_t* memory_ = nullptr;
  bool is_named_ = true;
};

}  // namespace emulator
