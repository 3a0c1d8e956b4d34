#include "core/device.h"
#include "core/schedule.h"
#include "cudart/result.h"

using emulator::Result;
using emulator::TheTables;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, int mode) {
  CUDART_ENTER(emulator::kCudart);
  const auto stream = emulator::FindStream(handle);
  return Result(stream == nullptr ? cudaErrorInvalidResourceHandle : emulator::BeginCapture(stream, mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  CUDART_ENTER(emulator::kCudartAlways);
  const auto stream = emulator::FindStream(handle);
  if (stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  std::shared_ptr<emulator::Graph> made;
  *graph = nullptr;
  const int error = emulator::EndCapture(stream, &made);
  if (error != cudaSuccess) return Result(error);
  *graph = TheTables().graphs.Add(std::move(made));
  return Result(emulator::DeviceError(stream->device));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, int* status) {
  CUDART_ENTER(emulator::kCudart);
  const auto stream = emulator::FindStream(handle);
  if (stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  *status = emulator::CaptureStatus(stream);
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(int* mode) {
  CUDART_ENTER(emulator::kCudart);
  return Result(emulator::ExchangeCaptureMode(mode));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  CUDART_ENTER(emulator::kCudart);
  const auto found = TheTables().graphs.Find(graph);
  if (found == nullptr) return Result(cudaErrorInvalidValue);
  *exec = TheTables().graph_execs.Add(std::make_shared<emulator::Graph>(*found));
  return cudaSuccess;
}

// Returns the count only: the emulator's nodes have no handles.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  CUDART_ENTER(emulator::kCudart);
  const auto found = TheTables().graphs.Find(graph);
  if (found == nullptr || nodes != nullptr) return Result(cudaErrorInvalidValue);
  *count = found->operations->size();
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t handle) {
  CUDART_ENTER(emulator::kCudart);
  const bool known = TheTables().graph_execs.Find(exec) != nullptr && emulator::FindStream(handle) != nullptr;
  return Result(known ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  CUDART_ENTER(emulator::kCudart);
  const auto graph = TheTables().graph_execs.Find(exec);
  const auto stream = emulator::FindStream(handle);
  if (graph == nullptr || stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  if (graph->device != stream->device) return Result(cudaErrorInvalidValue);
  return Result(emulator::Launch(stream, graph));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  CUDART_ENTER(emulator::kCudartAlways);
  emulator::CheckDeviceChosen(__func__);
  return Result(TheTables().graph_execs.Remove(exec) == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  CUDART_ENTER(emulator::kCudartAlways);
  return Result(TheTables().graphs.Remove(graph) == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}
