#include <algorithm>
#include <cstring>

#include "commands.h"

namespace cudnn_rnn {
namespace {

/// Throws NativeError NO_ROOM unless `bytes` at `offset` are within the buffer. A copy past the end would corrupt
/// another allocation of the same pool without an error.
void CheckRoom(const Buffer& buffer, std::size_t offset, std::size_t bytes, const char* call) {
  if (offset + bytes <= buffer.bytes) return;
  throw NativeError("session", call, "NO_ROOM");
}

/// cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, cudaStream_t stream)
void CopyAsync(Worker& worker, void* to, const void* from, std::size_t bytes, int kind) {
  CALL_CUDART(worker.libraries, cudaMemcpyAsync, to, from, bytes, kind, worker.stream);
}

/// Copies `bytes` through one page-locked block, and waits for each piece.
template <typename CopyPiece>
void CopyInPieces(Worker& worker, std::size_t bytes, const CopyPiece& copy) {
  const HostBlockRef block = worker.host_blocks.Take(HostBlockPool::kPiece);
  for (std::size_t done = 0; done < bytes; done += HostBlockPool::kPiece) {
    copy(static_cast<char*>(block->data), done, std::min(HostBlockPool::kPiece, bytes - done));
  }
}

/// Waits until the device has run everything queued on the session's stream.
void Synchronize(Worker& worker) { CALL_CUDART(worker.libraries, cudaStreamSynchronize, worker.stream); }

}  // namespace

/// Copies a host array to the device. Up to kPiece bytes this only queues the copy, and the block joins batch.transfers
/// until the stream has reached it; larger arrays are copied in pieces, and this waits.
void Upload::Run(Worker& worker, Batch& batch) const {
  const std::size_t bytes = from.bytes;
  CheckRoom(*to, offset, bytes, "upload");
  if (bytes == 0) return;
  const auto* data = static_cast<const char*>(from.block->data);
  if (bytes > HostBlockPool::kPiece) {
    return CopyInPieces(worker, bytes, [&](char* staged, std::size_t done, std::size_t piece) {
      std::memcpy(staged, data + done, piece);
      CopyAsync(worker, to->at(offset + done), staged, piece, cudaMemcpyHostToDevice);
      Synchronize(worker);
    });
  }
  HostBlockRef block = from.block;
  if (!block->pinned) {
    // Next time the pool has one of this size, and this copy is saved.
    block = worker.host_blocks.Take(bytes);
    std::memcpy(block->data, data, bytes);
  }
  CopyAsync(worker, to->at(offset), block->data, bytes, cudaMemcpyHostToDevice);
  // Keeps the block from its pool until the device has read it.
  batch.transfers.push_back({std::move(block), nullptr, bytes});
}

/// Copies device memory to a host array: into staging memory now, from there to the array when the batch settles.
void Download::Run(Worker& worker, Batch& batch) const {
  const std::size_t bytes = to.bytes;
  CheckRoom(*from, offset, bytes, "download");
  if (bytes == 0) return;
  if (bytes > HostBlockPool::kPiece) {
    return CopyInPieces(worker, bytes, [&](char* staged, std::size_t done, std::size_t piece) {
      CopyAsync(worker, staged, from->at(offset + done), piece, cudaMemcpyDeviceToHost);
      Synchronize(worker);
      std::memcpy(static_cast<char*>(to.data) + done, staged, piece);
    });
  }
  // Staging memory, as the JavaScript array is pageable and could be moved by a transfer.
  Transfer transfer{worker.host_blocks.Take(bytes), to.data, bytes};
  CopyAsync(worker, transfer.block->data, from->at(offset), bytes, cudaMemcpyDeviceToHost);
  batch.transfers.push_back(std::move(transfer));
}

/// A copy on the device. The ranges must not overlap.
void Copy::Run(Worker& worker, Batch&) const {
  if (bytes > 0) CopyAsync(worker, to->at(to_offset), from->at(from_offset), bytes, cudaMemcpyDeviceToDevice);
}

// cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream)
static void SetBytes(const Worker& worker, void* to, int value, std::size_t bytes) {
  if (bytes == 0) return;
  CALL_CUDART(worker.libraries, cudaMemsetAsync, to, value, bytes, worker.stream);
}

void Clear::Run(Worker& worker, Batch&) const { SetBytes(worker, to->at(offset), 0, bytes); }

void MarkEmpty::Run(Worker& worker, Batch&) const { SetBytes(worker, to->at(offset), 0xff, bytes); }

// cudaError_t cudaMemGetInfo(size_t* free, size_t* total)
void MemoryInfo::Run(Worker& worker, Batch& batch) const {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  CALL_CUDART(worker.libraries, cudaMemGetInfo, &free_bytes, &total_bytes);
  batch.results.push_back(static_cast<double>(free_bytes));
  batch.results.push_back(static_cast<double>(total_bytes));
}

void TrimMemory::Run(Worker& worker, Batch&) const { worker.TrimMemory(); }

}  // namespace cudnn_rnn
