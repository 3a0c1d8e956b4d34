#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "abi/cudart.h"
#include "core/live_objects.h"
#include "core/stream.h"

namespace emulator {

// Note [Schedule]
// Every call that puts work into a stream passes here, under one lock: the legacy null stream's implicit order, stream
// capture, and the vector clocks that find missing synchronization are decided when work is enqueued. Only the work
// itself is left to the streams' threads. All functions return a cudaError_t.

/// What cudaStreamBeginCapture … cudaStreamEndCapture collect. The order of capture is an order of execution that
/// respects all edges, so a graph replays as a list.
struct Capture {
  struct Node {
    Operation operation;
    Moment moment;
    Clock known;
  };
  int mode = 0;
  std::thread::id thread;
  std::shared_ptr<Stream> origin;
  std::vector<std::shared_ptr<Stream>> members;
  std::map<std::uint32_t, Clock> clocks;  // by stream id
  std::vector<Node> nodes;
  bool invalid = false;
};

struct Event {
  bool timed = true;
  std::shared_ptr<Point> point;      ///< of the last record; null before the first
  std::shared_ptr<Capture> capture;  ///< where the last record was captured, if it was
  Clock capture_clock;
};

struct Graph {
  int device = 0;
  Operations operations;
};

/// The handle tables, shared by all libraries.
struct Tables {
  LiveObjects<cudaStream_t, Stream> streams{"streams"};
  LiveObjects<cudaEvent_t, Event> events{"events"};
  LiveObjects<cudaGraph_t, Graph> graphs{"graphs"};
  LiveObjects<cudaGraphExec_t, Graph> graph_execs{"graph execs"};
};
Tables& TheTables();

/// The stream behind a handle: null and cudaStreamLegacy (1) are the current device's null stream. Null for a handle
/// that is not live.
std::shared_ptr<Stream> FindStream(cudaStream_t handle);

int Enqueue(const std::shared_ptr<Stream>& stream, Operation operation);
int Launch(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Graph>& graph);
int Record(Event& event, const std::shared_ptr<Stream>& stream);
int WaitFor(const std::shared_ptr<Stream>& stream, const Event& event);
int Synchronize(const std::shared_ptr<Stream>& stream);
int SynchronizeDevice(int device);
int SynchronizeEvent(const Event& event);
/// cudaErrorNotReady while there is work.
int Query(const std::shared_ptr<Stream>& stream);
int QueryEvent(const Event& event);

int BeginCapture(const std::shared_ptr<Stream>& stream, int mode);
int EndCapture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph);
/// 0 none, 1 active, 2 invalidated.
int CaptureStatus(const std::shared_ptr<Stream>& stream);
int ExchangeCaptureMode(int* mode);
/// Refuses, and invalidates the capture, when a capture forbids calls such as cudaMalloc to this thread.
int CheckUncaptured(const char* call);

/// Everything the streams in `clock` did is known to the host from now on.
void JoinHost(const Clock& clock);

}  // namespace emulator
