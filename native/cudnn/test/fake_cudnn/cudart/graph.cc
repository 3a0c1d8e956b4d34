#include "core/device.h"
#include "core/schedule.h"
#include "cudart/result.h"

using fake::Result;
using fake::TheTables;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, int mode) {
  CUDART_ENTER(fake::kCudart);
  const auto stream = fake::FindStream(handle);
  return Result(stream == nullptr ? cudaErrorInvalidResourceHandle : fake::BeginCapture(stream, mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  CUDART_ENTER(fake::kCudartAlways);
  const auto stream = fake::FindStream(handle);
  if (stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  std::shared_ptr<fake::Graph> made;
  *graph = nullptr;
  const int error = fake::EndCapture(stream, &made);
  if (error != cudaSuccess) return Result(error);
  *graph = TheTables().graphs.Add(std::move(made));
  return Result(fake::DeviceError(stream->device));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, int* status) {
  CUDART_ENTER(fake::kCudart);
  const auto stream = fake::FindStream(handle);
  if (stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  *status = fake::CaptureStatus(stream);
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(int* mode) {
  CUDART_ENTER(fake::kCudart);
  return Result(fake::ExchangeCaptureMode(mode));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  CUDART_ENTER(fake::kCudart);
  const auto found = TheTables().graphs.Find(graph);
  if (found == nullptr) return Result(cudaErrorInvalidValue);
  *exec = TheTables().graph_execs.Add(std::make_shared<fake::Graph>(*found));
  return cudaSuccess;
}

// Only the count is told: the fake's nodes have no handles.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  CUDART_ENTER(fake::kCudart);
  const auto found = TheTables().graphs.Find(graph);
  if (found == nullptr || nodes != nullptr) return Result(cudaErrorInvalidValue);
  *count = found->operations->size();
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t handle) {
  CUDART_ENTER(fake::kCudart);
  const bool known = TheTables().graph_execs.Find(exec) != nullptr && fake::FindStream(handle) != nullptr;
  return Result(known ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  CUDART_ENTER(fake::kCudart);
  const auto graph = TheTables().graph_execs.Find(exec);
  const auto stream = fake::FindStream(handle);
  if (graph == nullptr || stream == nullptr) return Result(cudaErrorInvalidResourceHandle);
  if (graph->device != stream->device) return Result(cudaErrorInvalidValue);
  return Result(fake::Launch(stream, graph));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  CUDART_ENTER(fake::kCudartAlways);
  return Result(TheTables().graph_execs.Remove(exec) == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  CUDART_ENTER(fake::kCudartAlways);
  return Result(TheTables().graphs.Remove(graph) == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}
