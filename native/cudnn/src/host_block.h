#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "libraries.h"

namespace cudnn_rnn {

/// Host memory for copies to and from the device; pageable where page-locked memory was not to be had.
struct HostBlock {
  void* data = nullptr;
  std::size_t capacity = 0;
  bool pinned = false;
};

/// A block that returns to its pool with its last reference.
using HostBlockRef = std::shared_ptr<const HostBlock>;

/// Page-locked blocks kept for reuse, in sizes of powers of two: locking pages costs far more than the copies.
/// Transfers larger than kPiece are copied in pieces, so that no block is too large to be kept.
class HostBlockPool {
 public:
  static constexpr std::size_t kPiece = std::size_t{64} << 20;

  explicit HostBlockPool(const Libraries& libraries) : libraries_(libraries) {}
  ~HostBlockPool() { Clear(); }

  /// A kept block for `bytes`, else pageable memory: never calls CUDA, so any thread may.
  HostBlockRef TakeWithoutCuda(std::size_t bytes);
  /// A page-locked block for `bytes` if possible. On a thread that has a device.
  HostBlockRef Take(std::size_t bytes);
  void Clear();

 private:
  HostBlockRef Share(HostBlock block);
  void Give(const HostBlock& block);
  bool TakeKept(std::size_t capacity, HostBlock* block);
  void FreeSurplus();

  const Libraries& libraries_;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<HostBlock>> kept_;
  std::size_t kept_bytes_ = 0;
  /// Blocks over the limit of the pool: freed by the next thread that may call CUDA.
  std::vector<HostBlock> surplus_;
};

}  // namespace cudnn_rnn
