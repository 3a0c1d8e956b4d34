#include "nccl/shared_barrier.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace emulator {
namespace {

constexpr std::size_t kHeaderBytes = 4096;
constexpr std::size_t kBytes = kHeaderBytes + SharedBarrier::kMostRanks * SharedBarrier::kSlotBytes;

}  // namespace

SharedBarrier::SharedBarrier(const std::string& name, int size) : name_(name), size_(size) {
  // New memory holds zeros, whichever rank makes it.
  const int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, kBytes) != 0) throw std::runtime_error("shm_open of " + name);
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) throw std::runtime_error("mmap of " + name);
  memory_ = static_cast<std::uint8_t*>(memory);
}

SharedBarrier::~SharedBarrier() {
  if (is_named_) shm_unlink(name_.c_str());
  munmap(memory_, kBytes);
}

bool SharedBarrier::Wait() {
  auto& arrived = reinterpret_cast<Shared*>(memory_)->arrived;
  const std::uint64_t all = ++waits_ * static_cast<std::uint64_t>(size_);
  arrived.fetch_add(1);
  while (arrived.load() < all) {
    if (aborted_) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  // All have opened it.
  if (is_named_) shm_unlink(name_.c_str());
  is_named_ = false;
  return true;
}

std::uint8_t* SharedBarrier::Slot(int rank) const {
  return memory_ + kHeaderBytes + static_cast<std::size_t>(rank) * kSlotBytes;
}

}  // namespace emulator
