#include "device/worker.h"

#include <algorithm>
#include <cstdint>

#include "commands.h"
#include "device/command_reader.h"
#include "sys/status.h"

namespace cudnn_rnn {
namespace {

/// PyTorch gives cuBLAS this much on Hopper; a fixed workspace also keeps products reproducible and graphs valid.
constexpr std::size_t kCublasWorkspace = std::size_t{32} << 20;

/// What `run` throws; null if it does not.
template <typename Function>
ErrorRef Attempt(const Function& run) {
  try {
    return ErrorIn(run);
  } catch (const std::exception& exception) {
    return std::make_shared<NativeError>("session", "the worker", "HOST_FAILURE", exception.what());
  }
}

/// The commands of all segments as one. Throws the first error of reading.
std::vector<AnyCommand> ReadAll(CommandReader& reader) {
  std::vector<AnyCommand> commands;
  while (!reader.AtEnd()) {
    reader.BeginSegment(reader.error());
    while (!reader.AtSegmentEnd()) ReadCommand(reader, commands);
  }
  if (reader.error()) throw NativeError(*reader.error());
  return commands;
}

}  // namespace

DeviceInfo Worker::Open() {
  const auto& dnn = libraries.cudnn;
  DeviceInfo info;
  int value = 0;
  CALL_CUDART(libraries, cudaSetDevice, device);
  // Makes the primary context current on this thread, which driver calls need.
  CALL_CUDART(libraries, cudaFree, nullptr);
  CALL_DRIVER(libraries, cuInit, 0);
  // By attribute, not cudaGetDeviceProperties: its structure changed size between CUDA 11, 12 and 13.
  const auto attribute = [&](int which) {
    CALL_CUDART(libraries, cudaDeviceGetAttribute, &value, which, device);
    return value;
  };
  info.numbers["computeCapability"] =
      attribute(cudaDevAttrComputeCapabilityMajor) * 10 + attribute(cudaDevAttrComputeCapabilityMinor);
  info.numbers["multiProcessors"] = attribute(cudaDevAttrMultiProcessorCount);
  // Without pools (before CUDA 11.2, or on devices without support) memory comes from cudaMalloc, which synchronizes.
  const bool has_pools = attribute(cudaDevAttrMemoryPoolsSupported) != 0;
  CUdevice ordinal = 0;
  CALL_DRIVER(libraries, cuDeviceGet, &ordinal, device);
  char name[256] = "";
  CALL_DRIVER(libraries, cuDeviceGetName, name, sizeof name, ordinal);
  info.name = name;

  CALL_CUDART(libraries, cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking);
  if (has_pools) {
    CALL_CUDART(libraries, cudaDeviceGetDefaultMemPool, &pool, device);
    // The default release threshold is 0: the pool would return its memory to the system at every synchronization, and
    // each step would pay for new pages (CUDA Programming Guide, "Stream Ordered Memory Allocator").
    std::uint64_t keep_everything = UINT64_MAX;
    CALL_CUDART(libraries, cudaMemPoolSetAttribute, pool, cudaMemPoolAttrReleaseThreshold, &keep_everything);
  }
  info.numbers["memoryPools"] = has_pools;
  CALL_CUDNN(libraries, cudnnCreate, &cudnn);
  // Without it the handle uses the legacy default stream, which synchronizes with all others.
  CALL_CUDNN(libraries, cudnnSetStream, cudnn, stream);
  CALL_CUBLAS(libraries, cublasCreate_v2, &cublas);
  CALL_CUBLAS(libraries, cublasSetStream_v2, cublas, stream);
  // cuBLAS would otherwise allocate its own workspace, which is not allowed during a capture.
  CALL_CUBLAS(libraries, cublasSetWorkspace_v2, cublas, Allocate(kCublasWorkspace), kCublasWorkspace);

  // The size of dropout states depends on the GPU; packages/cudnn checks saved states against it.
  std::size_t bytes = 0;
  CALL_CUDNN(libraries, cudnnDropoutGetStatesSize, cudnn, &bytes);
  info.numbers["dropoutStatesBytes"] = static_cast<double>(bytes);
  info.numbers["cudnnVersion"] = static_cast<double>(dnn.cudnnGetVersion());
  CALL_CUDART(libraries, cudaDriverGetVersion, &value);
  info.numbers["driverVersion"] = value;
  CALL_CUDART(libraries, cudaRuntimeGetVersion, &value);
  info.numbers["runtimeVersion"] = value;
  CALL_CUBLAS(libraries, cublasGetVersion_v2, cublas, &value);
  info.numbers["cublasVersion"] = value;
  int major = 0;
  int minor = 0;
  CALL_NVRTC(libraries, nvrtcVersion, &major, &minor);
  // The form of CUDART_VERSION: 12040 is 12.4.
  info.numbers["nvrtcVersion"] = major * 1000 + minor * 10;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  CALL_CUDART(libraries, cudaMemGetInfo, &free_bytes, &total_bytes);
  info.numbers["totalBytes"] = static_cast<double>(total_bytes);
  info.numbers["freeBytes"] = static_cast<double>(free_bytes);
  return info;
}

void Worker::Close() {
  const auto& cudart = libraries.cudart;
  // Objects must not be destroyed while the device uses them. Statuses are not read from here on: after a lost device
  // every call fails.
  if (stream != nullptr) cudart.cudaStreamSynchronize(stream);
  DestroyTimer();
  for (auto& [id, object] : objects_) {
    if (const auto* graph = std::get_if<Graph>(&object.value)) cudart.cudaGraphExecDestroy(graph->executable);
  }
  // Descriptors go with their objects.
  objects_.clear();
  // After the stream is idle: no kernel of the module may be running.
  kernels.Unload();
  // Handles before their stream, and before the cuBLAS workspace, which is among live_.
  if (cublas != nullptr) libraries.cublas.cublasDestroy_v2(cublas);
  if (cudnn != nullptr) libraries.cudnn.cudnnDestroy(cudnn);
  // Buffers that JavaScript did not release, and the cuBLAS workspace.
  for (const auto& [pointer, bytes] : live_) {
    pool != nullptr ? cudart.cudaFreeAsync(pointer, stream) : cudart.cudaFree(pointer);
  }
  live_.clear();
  if (stream != nullptr) {
    cudart.cudaStreamSynchronize(stream);
    cudart.cudaStreamDestroy(stream);
  }
  // The pool keeps freed memory for this process: other processes get it only after a trim.
  if (pool != nullptr) cudart.cudaMemPoolTrimTo(pool, 0);
  watch = nullptr;
  watch_block_ = nullptr;
  host_blocks.Clear();
  stream = nullptr;
  cudnn = nullptr;
  cublas = nullptr;
}

Object* Worker::Find(Id id) {
  const auto found = objects_.find(id);
  return found == objects_.end() ? nullptr : &found->second;
}

Object& Worker::Make(Id id) { return objects_[id]; }

void Worker::Run(Batch& batch) {
  // The conditions follow a capture: run the graph if it succeeded, the calls if not. The worker decides, so JavaScript
  // can queue both together.
  const bool is_run =
      batch.condition == Batch::Condition::kAlways || (batch.condition == Batch::Condition::kIfCaptured) == captured_;
  if (is_run) {
    if (batch.stream_call) {
      RunStreamCall(batch, *batch.stream_call);
    } else {
      batch.graph != 0 ? Capture(batch) : RunSegments(batch);
    }
  }
  // Also if the batch was skipped by its condition: the ids are released once, with the last batch of an operation.
  for (const Id id : batch.releases) Release(id);
}

void Worker::RunStreamCall(Batch& batch, WorkerEnd& call) {
  StreamArrival arrival;
  arrival.stream = stream;
  for (const Id id : batch.slots) {
    const Object* object = Find(id);
    const auto* buffer = object == nullptr ? nullptr : std::get_if<Buffer>(&object->value);
    void* const array = AddressOf(buffer);
    arrival.arrays.push_back(array);
    const bool is_needed = call.access != StreamAccess::kWrite || array == nullptr;
    if (is_needed && object != nullptr && object->error && !arrival.error) arrival.error = object->error;
  }
  call.arrived.set_value(std::move(arrival));
  // A dropped end throws std::future_error.
  batch.error = Attempt([&] {
    if (const ErrorRef error = call.taken.get()) throw NativeError(*error);
  });
  if (call.access == StreamAccess::kRead || (call.access == StreamAccess::kReadWrite && !batch.error)) return;
  for (const Id id : batch.slots) {
    if (Object* object = Find(id)) object->error = batch.error;
  }
}

void Worker::RunWithoutDevice(Batch& batch) {
  // Reads all segments, then runs them: no device, so there is nothing to allocate between.
  CommandReader reader(*this, batch);
  batch.error = Attempt([&] {
    const std::vector<AnyCommand> commands = ReadAll(reader);
    for (const AnyCommand& command : commands) RunCommand(command, *this, batch);
  });
  objects_.clear();
}

void Worker::RunSegments(Batch& batch) {
  // One reader for the whole batch; BeginSegment() resets the state of a segment.
  CommandReader reader(*this, batch);
  std::vector<AnyCommand> commands;
  if (batch.is_timed) batch.error = Attempt([&] { StartTimer(); });
  for (std::size_t segment = 0; !reader.AtEnd(); segment++) {
    // After a failure the rest is still read, so that its outputs are marked and its releases happen.
    const bool is_skipped = batch.error != nullptr;
    bool began = false;
    commands.clear();
    ErrorRef error = Attempt([&] {
      reader.BeginSegment(batch.error);
      while (!reader.AtSegmentEnd()) ReadCommand(reader, commands);
      if (reader.error()) throw NativeError(*reader.error());
      began = true;
      for (const AnyCommand& command : commands) RunCommand(command, *this, batch);
    });
    if (error && !is_skipped) {
      // Only the first failure is examined: the query waits for the device.
      batch.error = error = WithLostDevice(error);
      batch.failed_segment = segment;
    }
    // If a segment is skipped, only the objects that it would have made carry the error.
    const bool spares_others = is_skipped || reader.spares_others() || (batch.is_step && !began);
    for (const Id id : error&& spares_others ? reader.made() : reader.writes()) {
      if (Object* object = Find(id)) object->error = error;
    }
    // Also after a failure: JavaScript does not release twice.
    for (const Id id : reader.released()) Release(id);
  }
  if (batch.is_timed && !batch.error) {
    batch.error = Attempt([&] { batch.results.push_back(StopTimer()); });
  }
}

void Worker::Capture(Batch& batch) {
  const auto& cudart = libraries.cudart;
  captured_ = false;
  bool is_capturing = false;
  Graph graph;
  batch.error = Attempt([&] {
    CommandReader reader(*this, batch);
    const std::vector<AnyCommand> commands = ReadAll(reader);
    // The capture is this thread's own: other threads of the process may go on allocating.
    CALL_CUDART(libraries, cudaStreamBeginCapture, stream, cudaStreamCaptureModeThreadLocal);
    is_capturing = true;
    for (const AnyCommand& command : commands) RunCommand(command, *this, batch);
    cudaGraph_t captured = nullptr;
    CALL_CUDART(libraries, cudaStreamEndCapture, stream, &captured);
    is_capturing = false;
    // The executable graph is independent of its template, which is destroyed in both cases.
    const cudaError_t status = cudart.cudaGraphInstantiateWithFlags(&graph.executable, captured, 0);
    cudart.cudaGraphDestroy(captured);
    CheckCudart(libraries, status, "cudaGraphInstantiateWithFlags");
    graph.reads = reader.reads();
    graph.writes = reader.writes();
    // From here on a batch can launch it by its id.
    Make(batch.graph).value = std::move(graph);
    captured_ = true;
  });
  if (!batch.error) return;
  // A failed call leaves the stream in capture mode; the capture must be ended before the stream can be used again.
  if (is_capturing) {
    cudaGraph_t abandoned = nullptr;
    cudart.cudaStreamEndCapture(stream, &abandoned);
    if (abandoned != nullptr) cudart.cudaGraphDestroy(abandoned);
    cudart.cudaGetLastError();
  }
  batch.error = WithLostDevice(batch.error);
}

ErrorRef Worker::WithLostDevice(ErrorRef error) const {
  // Running out of memory is not the device's end, and a query would wait for it.
  if (error->requested_bytes > 0) return error;
  // A sticky error (an illegal address, say) makes every later call fail, often as CUDNN_STATUS_EXECUTION_FAILED. The
  // stream's own status is the cause.
  const cudaError_t status = libraries.cudart.cudaStreamSynchronize(stream);
  if (status == 0) return error;
  return ErrorIn([&] { CheckCudart(libraries, status, error->call.c_str()); });
}

void* Worker::Allocate(std::size_t bytes) {
  const auto& cudart = libraries.cudart;
  // Every buffer has its own address.
  const std::size_t room = std::max<std::size_t>(bytes, 1);
  void* pointer = nullptr;
  // In stream order: memory freed by earlier commands is reused without a synchronization.
  const auto allocate = [&] {
    const cudaError_t status =
        pool != nullptr ? cudart.cudaMallocAsync(&pointer, room, stream) : cudart.cudaMalloc(&pointer, room);
    if (status != 0 && status != cudaErrorMemoryAllocation) CheckCudart(libraries, status, "cudaMallocAsync");
    return status;
  };
  cudaError_t status = allocate();
  if (status == cudaErrorMemoryAllocation) {
    // The pool's cached blocks may be too small each: return them to the device and try once more.
    cudart.cudaGetLastError();
    TrimMemory();
    status = allocate();
  }
  if (status != 0) {
    cudart.cudaGetLastError();
    NativeError error("cudart", pool != nullptr ? "cudaMallocAsync" : "cudaMalloc", "cudaErrorMemoryAllocation", "",
                      status);
    error.requested_bytes = static_cast<double>(room);
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    // For the message; a failure here must not hide the first error.
    if (cudart.cudaMemGetInfo(&free_bytes, &total_bytes) == 0) {
      error.free_bytes = static_cast<double>(free_bytes);
      error.total_bytes = static_cast<double>(total_bytes);
    }
    throw error;
  }
  live_.emplace(pointer, room);
  return pointer;
}

// cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
void Worker::TrimMemory() {
  CALL_CUDART(libraries, cudaStreamSynchronize, stream);
  if (pool != nullptr) CALL_CUDART(libraries, cudaMemPoolTrimTo, pool, 0);
}

void Worker::Release(Id id) {
  const auto found = objects_.find(id);
  // A batch that was to make it may have been dropped.
  if (found == objects_.end()) return;
  if (const auto* buffer = std::get_if<Buffer>(&found->second.value)) Free(buffer->pointer);
  if (const auto* graph = std::get_if<Graph>(&found->second.value)) {
    libraries.cudart.cudaGraphExecDestroy(graph->executable);
  }
  objects_.erase(found);
}

void Worker::Free(void* pointer) {
  // Host memory in place of a buffer (AllocateOnHost), or freed already.
  if (live_.erase(pointer) == 0) return;
  // A context that is in error refuses this too; nothing can be done then, and the next call reports it.
  const auto& cudart = libraries.cudart;
  const cudaError_t status = pool != nullptr ? cudart.cudaFreeAsync(pointer, stream) : cudart.cudaFree(pointer);
  if (status != 0) cudart.cudaGetLastError();
}

// Events on the stream, so the commands of other streams are not measured. The device is idle at the start: commands
// that it finishes sooner than this thread issues the next take as long as issuing them, and not less because earlier
// work hid that.
void Worker::StartTimer() {
  // Created at first use, with timing; reused by later batches.
  for (cudaEvent_t& event : timer_) {
    if (event != nullptr) continue;
    CALL_CUDART(libraries, cudaEventCreateWithFlags, &event, cudaEventBlockingSync);
  }
  CALL_CUDART(libraries, cudaStreamSynchronize, stream);
  CALL_CUDART(libraries, cudaEventRecord, timer_[0], stream);
}

double Worker::StopTimer() {
  float milliseconds = 0;
  CALL_CUDART(libraries, cudaEventRecord, timer_[1], stream);
  // Blocks the worker; only trials and the validation use timed batches.
  CALL_CUDART(libraries, cudaEventSynchronize, timer_[1]);
  CALL_CUDART(libraries, cudaEventElapsedTime, &milliseconds, timer_[0], timer_[1]);
  CheckWatch();
  return milliseconds;
}

void Worker::OpenWatch() {
  if (watch_block_) return;
  HostBlockRef block = host_blocks.Take(sizeof(unsigned));
  if (!block->pinned) throw NativeError("cudart", "cudaMallocHost", "cudaErrorMemoryAllocation");
  *static_cast<unsigned*>(block->data) = 0;
  watch = static_cast<volatile unsigned*>(block->data);
  watch_block_ = std::move(block);
}

void Worker::CheckWatch() const {
  const volatile unsigned* const word = watch;
  if (word == nullptr || *word == 0) return;
  throw NativeError("cudnn", "a persistent kernel", "PERSISTENT_KERNEL_STUCK",
                    "its blocks waited too long for each other; open the executor with kernels: 'cudnn'");
}

void Worker::DestroyTimer() {
  for (cudaEvent_t& event : timer_) {
    if (event != nullptr) libraries.cudart.cudaEventDestroy(event);
    event = nullptr;
  }
}

}  // namespace cudnn_rnn
