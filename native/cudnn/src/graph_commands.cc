#include "areas.h"
#include "status.h"

namespace cudnn_rnn {

/// A captured batch, ready to be replayed. The addresses in it are fixed, so it keeps their buffers.
struct Graph {
  cudaGraphExec_t executable = nullptr;
  std::vector<BufferRef> reads;
  std::vector<BufferRef> writes;
  std::shared_ptr<Session> session;

  ~Graph() {
    if (executable == nullptr) return;
    session->DestroyHandle([exec = executable](const Libraries& libraries) {
      libraries.cudart.cudaGraphExecDestroy(exec);
    });
  }
};

HANDLE_TAG(Graph, 10)

namespace {

// cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode)
// beginCapture(session): void — the commands after it, in this batch, are recorded and not run
//
// The capture is the worker thread's own: other threads of the process may go on allocating.
Napi::Value BeginCapture(const Napi::CallbackInfo& info) {
  Arguments args(info);
  args.session().pending().spares_others = true;
  args.Enqueue([](Worker& worker, Batch&) {
    CheckCudart(worker.libraries,
                worker.libraries.cudart.cudaStreamBeginCapture(worker.stream, cudaStreamCaptureModeThreadLocal),
                "cudaStreamBeginCapture");
    worker.capturing = true;
  });
  return args.env().Undefined();
}

// cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph)
// cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags)
// endCapture(session): Graph
Napi::Value EndCapture(const Napi::CallbackInfo& info) {
  Arguments args(info);
  auto graph = std::make_shared<Graph>();
  graph->session = args.handle()->session;
  const Batch& batch = args.session().pending();
  graph->reads = batch.reads;
  graph->writes = batch.writes;
  args.Enqueue([=](Worker& worker, Batch&) {
    const auto& cudart = worker.libraries.cudart;
    cudaGraph_t captured = nullptr;
    CheckCudart(worker.libraries, cudart.cudaStreamEndCapture(worker.stream, &captured), "cudaStreamEndCapture");
    worker.capturing = false;
    const cudaError_t status = cudart.cudaGraphInstantiateWithFlags(&graph->executable, captured, 0);
    cudart.cudaGraphDestroy(captured);
    CheckCudart(worker.libraries, status, "cudaGraphInstantiateWithFlags");
  });
  return Show(args.env(), std::move(graph));
}

// cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
// launchGraph(session, graph: Graph, ...reads: Buffer[]): void — `reads` are buffers of others that the graph reads; a
// batch with a launch writes nothing else of others before it
Napi::Value LaunchGraph(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const auto graph = args.Object<Graph>();
  for (std::size_t k = 2; k < info.Length(); k++) args.Read();
  Batch& batch = args.session().pending();
  batch.spares_others = true;
  batch.writes.insert(batch.writes.end(), graph->writes.begin(), graph->writes.end());
  args.Enqueue([=](Worker& worker, Batch&) {
    CheckCudart(worker.libraries, worker.libraries.cudart.cudaGraphLaunch(graph->executable, worker.stream),
                "cudaGraphLaunch");
  });
  return args.env().Undefined();
}

// cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
// releaseGraph(graph: Graph): void
Napi::Value ReleaseGraph(const Napi::CallbackInfo& info) {
  Holder<Graph>(info[0]).reset();
  return info.Env().Undefined();
}

}  // namespace

/// Two events around the commands that are timed.
struct Timer {
  std::shared_ptr<Session> session;
  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;

  ~Timer() {
    for (cudaEvent_t event : {start, end}) {
      if (event == nullptr) continue;
      session->DestroyHandle([event](const Libraries& libraries) { libraries.cudart.cudaEventDestroy(event); });
    }
  }
};

HANDLE_TAG(Timer, 11)

namespace {

// cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
// startTimer(session): Timer
Napi::Value StartTimer(const Napi::CallbackInfo& info) {
  Arguments args(info);
  auto timer = std::make_shared<Timer>();
  timer->session = args.handle()->session;
  args.Enqueue([=](Worker& worker, Batch&) {
    const auto& cudart = worker.libraries.cudart;
    for (cudaEvent_t* event : {&timer->start, &timer->end}) {
      CheckCudart(worker.libraries, cudart.cudaEventCreateWithFlags(event, cudaEventBlockingSync),
                  "cudaEventCreateWithFlags");
    }
    CheckCudart(worker.libraries, cudart.cudaEventRecord(timer->start, worker.stream), "cudaEventRecord");
  });
  return Show(args.env(), std::move(timer));
}

// cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end)
// stopTimer(session, timer: Timer): void — waits for the device and reports milliseconds
Napi::Value StopTimer(const Napi::CallbackInfo& info) {
  Arguments args(info);
  const auto timer = args.Object<Timer>();
  args.Enqueue([=](Worker& worker, Batch& batch) {
    const auto& cudart = worker.libraries.cudart;
    float milliseconds = 0;
    CheckCudart(worker.libraries, cudart.cudaEventRecord(timer->end, worker.stream), "cudaEventRecord");
    CheckCudart(worker.libraries, cudart.cudaEventSynchronize(timer->end), "cudaEventSynchronize");
    CheckCudart(worker.libraries, cudart.cudaEventElapsedTime(&milliseconds, timer->start, timer->end),
                "cudaEventElapsedTime");
    batch.results.push_back(milliseconds);
  });
  return args.env().Undefined();
}

}  // namespace

void InitGraphs(Napi::Object exports) {
  Export<BeginCapture>(exports, "beginCapture");
  Export<EndCapture>(exports, "endCapture");
  Export<LaunchGraph>(exports, "launchGraph");
  Export<ReleaseGraph>(exports, "releaseGraph");
  Export<StartTimer>(exports, "startTimer");
  Export<StopTimer>(exports, "stopTimer");
}

}  // namespace cudnn_rnn
