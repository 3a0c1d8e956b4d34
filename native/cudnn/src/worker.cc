#include "worker.h"

#include <algorithm>
#include <cstdint>

#include "status.h"

namespace cudnn_rnn {
namespace {

/// PyTorch gives cuBLAS this much on Hopper; a fixed workspace also keeps products reproducible and graphs valid.
constexpr std::size_t kCublasWorkspace = std::size_t{32} << 20;

}  // namespace

DeviceInfo Worker::Open() {
  const auto& cudart = libraries.cudart;
  const auto& dnn = libraries.cudnn;
  DeviceInfo info;
  int value = 0;
  CheckCudart(libraries, cudart.cudaSetDevice(device), "cudaSetDevice");
  // Makes the primary context current on this thread, which driver calls need.
  CheckCudart(libraries, cudart.cudaFree(nullptr), "cudaFree");
  CheckDriver(libraries, libraries.driver.cuInit(0), "cuInit");
  const auto attribute = [&](int which) {
    CheckCudart(libraries, cudart.cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
  };
  info.numbers["computeCapability"] =
      attribute(cudaDevAttrComputeCapabilityMajor) * 10 + attribute(cudaDevAttrComputeCapabilityMinor);
  info.numbers["multiProcessors"] = attribute(cudaDevAttrMultiProcessorCount);
  const bool has_pools = attribute(cudaDevAttrMemoryPoolsSupported) != 0;
  CUdevice ordinal = 0;
  CheckDriver(libraries, libraries.driver.cuDeviceGet(&ordinal, device), "cuDeviceGet");
  char name[256] = "";
  CheckDriver(libraries, libraries.driver.cuDeviceGetName(name, sizeof name, ordinal), "cuDeviceGetName");
  info.name = name;

  CheckCudart(libraries, cudart.cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
              "cudaStreamCreateWithFlags");
  if (has_pools) {
    CheckCudart(libraries, cudart.cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
    std::uint64_t keep_everything = UINT64_MAX;
    CheckCudart(libraries,
                cudart.cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_everything),
                "cudaMemPoolSetAttribute");
  }
  info.numbers["memoryPools"] = has_pools;
  CheckCudnn(libraries, dnn.cudnnCreate(&cudnn), "cudnnCreate");
  CheckCudnn(libraries, dnn.cudnnSetStream(cudnn, stream), "cudnnSetStream");
  CheckCublas(libraries, libraries.cublas.cublasCreate_v2(&cublas), "cublasCreate_v2");
  CheckCublas(libraries, libraries.cublas.cublasSetStream_v2(cublas, stream), "cublasSetStream_v2");
  CheckCublas(libraries,
              libraries.cublas.cublasSetWorkspace_v2(cublas, TryAllocate(kCublasWorkspace), kCublasWorkspace),
              "cublasSetWorkspace_v2");

  std::size_t bytes = 0;
  CheckCudnn(libraries, dnn.cudnnDropoutGetStatesSize(cudnn, &bytes), "cudnnDropoutGetStatesSize");
  info.numbers["dropoutStatesBytes"] = static_cast<double>(bytes);
  info.numbers["cudnnVersion"] = static_cast<double>(dnn.cudnnGetVersion());
  CheckCudart(libraries, cudart.cudaDriverGetVersion(&value), "cudaDriverGetVersion");
  info.numbers["driverVersion"] = value;
  CheckCudart(libraries, cudart.cudaRuntimeGetVersion(&value), "cudaRuntimeGetVersion");
  info.numbers["runtimeVersion"] = value;
  CheckCublas(libraries, libraries.cublas.cublasGetVersion_v2(cublas, &value), "cublasGetVersion_v2");
  info.numbers["cublasVersion"] = value;
  int major = 0;
  int minor = 0;
  CheckNvrtc(libraries, libraries.nvrtc.nvrtcVersion(&major, &minor), "nvrtcVersion");
  info.numbers["nvrtcVersion"] = major * 1000 + minor * 10;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  CheckCudart(libraries, cudart.cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  info.numbers["totalBytes"] = static_cast<double>(total_bytes);
  info.numbers["freeBytes"] = static_cast<double>(free_bytes);
  return info;
}

void Worker::Close() {
  const auto& cudart = libraries.cudart;
  if (stream != nullptr) cudart.cudaStreamSynchronize(stream);
  for (CUmodule module : modules) libraries.driver.cuModuleUnload(module);
  modules.clear();
  if (cublas != nullptr) libraries.cublas.cublasDestroy_v2(cublas);
  if (cudnn != nullptr) libraries.cudnn.cudnnDestroy(cudnn);
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
  host_blocks.Clear();
  stream = nullptr;
  cudnn = nullptr;
  cublas = nullptr;
}

void Worker::Run(Batch& batch) {
  bool began = false;
  if (batch.place == Batch::kFirstOfStep) step_error_ = nullptr;
  try {
    if (batch.place == Batch::kOfStep && step_error_) throw NativeError(*step_error_);
    for (const BufferRef& buffer : batch.reads) {
      if (buffer->error) throw NativeError(*buffer->error);
    }
    for (const BufferRef& buffer : batch.allocations) Allocate(*buffer);
    began = true;
    for (const Command& command : batch.commands) command(*this, batch);
    for (const BufferRef& buffer : batch.writes) buffer->error = nullptr;
  } catch (const NativeError& error) {
    batch.error = std::make_shared<NativeError>(error);
  } catch (const std::exception& exception) {
    NativeError error;
    error.library = "session";
    error.call = "the worker";
    error.name = "HOST_FAILURE";
    error.detail = exception.what();
    batch.error = std::make_shared<NativeError>(error);
  }
  if (!batch.error) return;
  if (capturing) {
    cudaGraph_t graph = nullptr;
    libraries.cudart.cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) libraries.cudart.cudaGraphDestroy(graph);
    libraries.cudart.cudaGetLastError();
    capturing = false;
  }
  const bool is_of_step = batch.place != Batch::kAlone;
  // Who comes after a failure in its step has asked already.
  if (!is_of_step || !step_error_) batch.error = WithLostDevice(batch.error);
  if (is_of_step) step_error_ = batch.error;
  const bool spares_others = batch.spares_others || (is_of_step && !began);
  for (const BufferRef& buffer : spares_others ? batch.allocations : batch.writes) buffer->error = batch.error;
}

ErrorRef Worker::WithLostDevice(ErrorRef error) const {
  // Running out of memory is not the device's end, and asking would wait for it.
  if (error->requested_bytes > 0) return error;
  const cudaError_t status = libraries.cudart.cudaStreamSynchronize(stream);
  if (status == 0) return error;
  try {
    CheckCudart(libraries, status, error->call.c_str());
  } catch (const NativeError& lost) {
    return std::make_shared<NativeError>(lost);
  }
  return error;
}

void* Worker::TryAllocate(std::size_t bytes) {
  const auto& cudart = libraries.cudart;
  void* pointer = nullptr;
  const auto allocate = [&] {
    const cudaError_t status =
        pool != nullptr ? cudart.cudaMallocAsync(&pointer, bytes, stream) : cudart.cudaMalloc(&pointer, bytes);
    if (status != 0 && status != cudaErrorMemoryAllocation) CheckCudart(libraries, status, "cudaMallocAsync");
    return status;
  };
  cudaError_t status = allocate();
  if (status == cudaErrorMemoryAllocation) {
    // What the pool keeps may be in pieces too small: give it back to the device and try once more.
    cudart.cudaGetLastError();
    CheckCudart(libraries, cudart.cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (pool != nullptr) CheckCudart(libraries, cudart.cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
    status = allocate();
  }
  if (status != 0) {
    cudart.cudaGetLastError();
    NativeError error;
    error.library = "cudart";
    error.call = pool != nullptr ? "cudaMallocAsync" : "cudaMalloc";
    error.status = status;
    error.name = "cudaErrorMemoryAllocation";
    error.requested_bytes = static_cast<double>(bytes);
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    if (cudart.cudaMemGetInfo(&free_bytes, &total_bytes) == 0) {
      error.free_bytes = static_cast<double>(free_bytes);
      error.total_bytes = static_cast<double>(total_bytes);
    }
    throw error;
  }
  live_.emplace(pointer, bytes);
  return pointer;
}

void Worker::Allocate(DeviceBuffer& buffer) {
  buffer.set_pointer(TryAllocate(std::max<std::size_t>(buffer.bytes(), 1)));
}

void Worker::Free(void* pointer) {
  if (live_.erase(pointer) == 0) return;
  // A context that is in error refuses this too; nothing can be done then, and the next call reports it.
  const auto& cudart = libraries.cudart;
  const cudaError_t status = pool != nullptr ? cudart.cudaFreeAsync(pointer, stream) : cudart.cudaFree(pointer);
  if (status != 0) cudart.cudaGetLastError();
}

}  // namespace cudnn_rnn
