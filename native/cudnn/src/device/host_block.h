#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "sys/libraries.h"

namespace cudnn_rnn {

/// Host memory for copies to and from the device; pageable if page-locked memory was not to be had.
struct HostBlock {
  void* data = nullptr;
  /// Bytes of `data`: a power of two for page-locked blocks.
  std::size_t capacity = 0;
  /// Page-locked by cudaMallocHost. Only then a copy is asynchronous; from pageable memory cudaMemcpyAsync copies to a
  /// staging buffer of the driver first and may block ("API synchronization behavior", CUDA Runtime API).
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
  /// Frees all kept blocks. On a thread that has a device, after the last copy.
  void Clear();

 private:
  /// Wraps a block so that its last reference gives it back. The pool must outlive every reference.
  HostBlockRef Share(HostBlock block);
  /// Takes a block back, on any thread: page-locked ones are kept or queued in surplus_, pageable ones freed
  /// immediately.
  void Give(const HostBlock& block);
  bool TakeKept(std::size_t capacity, HostBlock* block);
  void FreeSurplus();

  const Libraries& libraries_;
  std::mutex mutex_;
  /// Free blocks by capacity.
  std::map<std::size_t, std::vector<HostBlock>> kept_;
  std::size_t kept_bytes_ = 0;
  /// Blocks over the limit of the pool: freed by the next thread that may call CUDA.
  std::vector<HostBlock> surplus_;
};

}  // namespace cudnn_rnn
