#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/memory.h"

namespace emulator {

/// One piece of device work: a copy, a kernel, an RNN pass, a host function.
struct Operation {
  std::string name;
  std::vector<Access> accesses;
  std::function<void(int device)> run;
  /// Page-locked host memory that the caller may not change before the operation has run.
  const void* source = nullptr;
  std::size_t source_bytes = 0;
  bool host_function = false;
  /// Runs on a device in error too: operations that free memory.
  bool always = false;
};

using Operations = std::shared_ptr<const std::vector<Operation>>;

/// What cudaEventRecord puts into a stream.
class Point {
 public:
  /// `counted`: microseconds that the stream's operations count.
  void Complete(std::chrono::microseconds counted);
  bool Done() const;
  void Wait() const;
  std::chrono::steady_clock::time_point time() const;
  std::chrono::microseconds counted() const;

  Clock clock;  ///< of the stream when it was recorded
  bool timed = true;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  std::chrono::steady_clock::time_point time_;
  std::chrono::microseconds counted_{0};
};

/// An entry of a stream's queue: an operation, a point to wait for, or a point to complete.
struct StreamItem {
  Operations operations;
  std::shared_ptr<Point> waits_for;
  std::shared_ptr<Point> completes;
  Clock clock;
  std::vector<std::uint64_t> source_sums;
};

struct Capture;

/// A queue with its own thread. Everything but the queue belongs to the schedule (schedule.h) and its lock.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(int device, bool blocking);

  void Push(StreamItem item);
  /// No more work follows; the thread ends when the queue is empty.
  void Close();

  const int device;
  const bool blocking;  ///< orders itself with the null stream
  const std::uint32_t id;

  Clock clock;
  std::uint64_t sequence = 0;
  std::shared_ptr<Capture> capture;

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<StreamItem> queue_;
  bool started_ = false;
  bool closed_ = false;
  /// Written by the stream's thread alone.
  std::chrono::microseconds counted_{0};
};

/// A checksum of host memory, to detect changes.
std::uint64_t Checksum(const void* bytes, std::size_t count);

}  // namespace emulator
