#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "areas.h"
#include "status.h"

namespace cudnn_rnn {
namespace {

// cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream)
// allocate(session, bytes: number): Buffer — the memory exists once the batch runs
Napi::Value Allocate(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const std::size_t bytes = args.Size();
  auto buffer = std::make_shared<DeviceBuffer>(args.session().inbox(), bytes);
  Batch& batch = args.session().pending();
  batch.allocations.push_back(buffer);
  batch.writes.push_back(buffer);
  return Show(args.env(), std::move(buffer));
}

// hostMemory(session, bytes: number): Buffer — the host's memory in a device buffer's place, never given back
//
// Only the validation on a real GPU makes one: it asks what the device says of such a pointer.
Napi::Value HostMemory(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const std::size_t bytes = args.Size();
  auto buffer = std::make_shared<DeviceBuffer>(args.session().inbox(), bytes);
  void* memory = std::calloc(bytes, 1);
  if (memory == nullptr) throw std::bad_alloc();
  // The worker ignores the release of what it did not allocate.
  buffer->set_pointer(memory);
  return Show(args.env(), std::move(buffer));
}

// cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream)
// release(buffer): void — freed once nothing queued uses it
Napi::Value Release(const Napi::CallbackInfo& info) {
  Holder<DeviceBuffer>(info[0]).reset();
  return info.Env().Undefined();
}

// adjustExternalMemory(bytes: number): void — tells the garbage collector what device memory JavaScript keeps alive
Napi::Value AdjustExternalMemory(const Napi::CallbackInfo& info) {
  Napi::MemoryManagement::AdjustExternalMemory(info.Env(), info[0].ToNumber().Int64Value());
  return info.Env().Undefined();
}

/// Copies through one page-locked block, and waits for each piece.
void UploadInPieces(Worker& worker, const DeviceBuffer& to, std::size_t offset, const HostBlock& from,
                    std::size_t bytes) {
  const HostBlockRef block = worker.host_blocks.Take(HostBlockPool::kPiece);
  for (std::size_t done = 0; done < bytes; done += HostBlockPool::kPiece) {
    const std::size_t piece = std::min(HostBlockPool::kPiece, bytes - done);
    std::memcpy(block->data, static_cast<const char*>(from.data) + done, piece);
    CheckCudart(worker.libraries,
                worker.libraries.cudart.cudaMemcpyAsync(to.at(offset + done), block->data, piece,
                                                        cudaMemcpyHostToDevice, worker.stream),
                "cudaMemcpyAsync");
    CheckCudart(worker.libraries, worker.libraries.cudart.cudaStreamSynchronize(worker.stream),
                "cudaStreamSynchronize");
  }
}

// cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, cudaStream_t stream)
// upload(session, to: Buffer, offset: number, from: TypedArray): void — `from` is read before this returns
Napi::Value Upload(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const BufferRef to = args.Write();
  const std::size_t offset = args.Size();
  const HostArray from = args.Array();
  const std::size_t bytes = from.bytes;
  if (offset + bytes > to->bytes()) ThrowBytes(args.env(), to->bytes() - offset, bytes);
  if (bytes == 0) return args.env().Undefined();
  HostBlockRef staged = args.session().host_blocks().TakeWithoutCuda(bytes);
  std::memcpy(staged->data, from.data, bytes);
  args.Enqueue([=](Worker& worker, Batch& batch) {
    if (bytes > HostBlockPool::kPiece) return UploadInPieces(worker, *to, offset, *staged, bytes);
    HostBlockRef block = staged;
    if (!block->pinned) {
      // Next time the pool has one of this size, and this copy is saved.
      block = worker.host_blocks.Take(bytes);
      std::memcpy(block->data, staged->data, bytes);
    }
    CheckCudart(worker.libraries,
                worker.libraries.cudart.cudaMemcpyAsync(to->at(offset), block->data, bytes, cudaMemcpyHostToDevice,
                                                        worker.stream),
                "cudaMemcpyAsync");
    batch.transfers.push_back({std::move(block), nullptr, bytes});
  });
  return args.env().Undefined();
}

// cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, cudaStream_t stream)
// copy(session, to: Buffer, toOffset: number, from: Buffer, fromOffset: number, bytes: number): void
Napi::Value Copy(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const BufferRef to = args.Write();
  const std::size_t to_offset = args.Size();
  const BufferRef from = args.Read();
  const std::size_t from_offset = args.Size();
  const std::size_t bytes = args.Size();
  if (bytes == 0) return args.env().Undefined();
  args.Enqueue([=](Worker& worker, Batch&) {
    CheckCudart(worker.libraries,
                worker.libraries.cudart.cudaMemcpyAsync(to->at(to_offset), from->at(from_offset), bytes,
                                                        cudaMemcpyDeviceToDevice, worker.stream),
                "cudaMemcpyAsync");
  });
  return args.env().Undefined();
}

// cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream)
// clear(session, buffer: Buffer, offset: number, bytes: number): void — sets bytes to 0
Napi::Value Clear(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const BufferRef buffer = args.Write();
  const std::size_t offset = args.Size();
  const std::size_t bytes = args.Size();
  if (bytes == 0) return args.env().Undefined();
  args.Enqueue([=](Worker& worker, Batch&) {
    CheckCudart(worker.libraries,
                worker.libraries.cudart.cudaMemsetAsync(buffer->at(offset), 0, bytes, worker.stream),
                "cudaMemsetAsync");
  });
  return args.env().Undefined();
}

// cudaError_t cudaMemGetInfo(size_t* free, size_t* total)
// memoryInfo(session): void — reports free and total bytes
Napi::Value MemoryInfo(const Napi::CallbackInfo& info) {
  Arguments args(info);
  args.Enqueue([](Worker& worker, Batch& batch) {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    CheckCudart(worker.libraries, worker.libraries.cudart.cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    batch.results.push_back(static_cast<double>(free_bytes));
    batch.results.push_back(static_cast<double>(total_bytes));
  });
  return args.env().Undefined();
}

}  // namespace

void InitMemory(Napi::Object exports) {
  Export<Allocate>(exports, "allocate");
  Export<HostMemory>(exports, "hostMemory");
  Export<Release>(exports, "release");
  Export<AdjustExternalMemory>(exports, "adjustExternalMemory");
  Export<Upload>(exports, "upload");
  Export<Copy>(exports, "copy");
  Export<Clear>(exports, "clear");
  Export<MemoryInfo>(exports, "memoryInfo");
}

}  // namespace cudnn_rnn
