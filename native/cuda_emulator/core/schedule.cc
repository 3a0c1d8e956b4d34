#include "core/schedule.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "abi/cudart.h"
#include "core/device.h"
#include "core/settings.h"

namespace emulator {
namespace {

struct Schedule {
  std::mutex mutex;
  Clock host;
  std::map<int, std::shared_ptr<Stream>> null_streams;
  std::vector<std::shared_ptr<Capture>> captures;
};

Schedule& TheSchedule() {
  static Schedule* schedule = new Schedule;  // never destroyed, see settings.cc
  return *schedule;
}

enum { kCaptureGlobal, kCaptureThreadLocal, kCaptureRelaxed };
thread_local int thread_capture_mode = kCaptureGlobal;

// All functions of this namespace expect the schedule's lock to be held.

const std::shared_ptr<Stream>& NullStream(int device) {
  std::shared_ptr<Stream>& stream = TheSchedule().null_streams[device];
  if (stream == nullptr) stream = std::make_shared<Stream>(device, true);
  return stream;
}

bool IsNull(const Stream& stream) { return NullStream(stream.device).get() == &stream; }

std::shared_ptr<Point> PushPoint(Stream& stream, bool timed) {
  auto point = std::make_shared<Point>();
  point->clock = stream.clock;
  point->timed = timed;
  StreamItem item;
  item.completes = point;
  stream.Push(std::move(item));
  return point;
}

void PushWait(Stream& stream, const std::shared_ptr<Point>& point) {
  stream.clock.Join(point->clock);
  StreamItem item;
  item.waits_for = point;
  stream.Push(std::move(item));
}

// The null stream waits for all blocking streams, and they for it.
int OrderWithNullStream(Stream& stream) {
  if (!stream.blocking) return cudaSuccess;
  if (!IsNull(stream)) {
    PushWait(stream, PushPoint(*NullStream(stream.device), false));
    return cudaSuccess;
  }
  for (const auto& other : TheTables().streams.All()) {
    if (other->device != stream.device || !other->blocking) continue;
    if (other->capture != nullptr) {
      other->capture->invalid = true;
      return cudaErrorStreamCaptureImplicit;
    }
    PushWait(stream, PushPoint(*other, false));
  }
  return cudaSuccess;
}

bool Conflict(const Access& a, const Access& b) {
  if (!a.write && !b.write) return false;
  const auto range = [](const Access& access) {
    const Extent extent = FindDeviceExtent(access.pointer);
    const auto begin = reinterpret_cast<std::uintptr_t>(access.pointer);
    return std::pair(begin, access.bytes == 0 ? extent.begin + extent.bytes : begin + access.bytes);
  };
  const auto [a_begin, a_end] = range(a);
  const auto [b_begin, b_end] = range(b);
  return a_begin < b_end && b_begin < a_end;
}

int AddToCapture(Stream& stream, Operation operation) {
  Capture& capture = *stream.capture;
  if (capture.invalid) return cudaErrorStreamCaptureInvalidated;
  Clock& known = capture.clocks[stream.id];
  const Moment moment{stream.id, ++stream.sequence};
  for (const Capture::Node& node : capture.nodes) {
    if (known.Holds(node.moment)) continue;
    for (const Access& earlier : node.operation.accesses) {
      for (const Access& later : operation.accesses) {
        if (Conflict(earlier, later)) {
          ReportViolation(operation.name + " and " + node.operation.name +
                          " touch the same memory in one graph, with no edge between them");
        }
      }
    }
  }
  known.Advance(moment);
  capture.nodes.push_back({std::move(operation), moment, known});
  return cudaSuccess;
}

int PushOperations(Stream& stream, Operations operations) {
  if (const int error = OrderWithNullStream(stream); error != cudaSuccess) return error;
  stream.clock.Join(TheSchedule().host);
  const Moment moment{stream.id, ++stream.sequence};
  stream.clock.Advance(moment);  // a graph's operations were compared with each other when they were captured
  StreamItem item;
  for (const Operation& operation : *operations) {
    for (const Access& access : operation.accesses) CheckOrder(operation.name.c_str(), access, moment, stream.clock);
    const bool watched = operation.source != nullptr;
    item.source_sums.push_back(watched ? Checksum(operation.source, operation.source_bytes) : 0);
  }
  item.operations = std::move(operations);
  item.clock = stream.clock;
  stream.Push(std::move(item));
  return cudaSuccess;
}

int AfterPush(const std::shared_ptr<Stream>& stream, int error) {
  return error == cudaSuccess && CurrentSettings()->blocking ? Synchronize(stream) : error;
}

// A call that waits for a stream, or looks at it, is forbidden while the stream is captured.
int RefuseCaptured(Stream& stream) {
  if (stream.capture == nullptr) return cudaSuccess;
  stream.capture->invalid = true;
  return cudaErrorStreamCaptureUnsupported;
}

}  // namespace

Tables& TheTables() {
  static Tables* tables = new Tables;  // never destroyed, see settings.cc
  return *tables;
}

std::shared_ptr<Stream> FindStream(cudaStream_t handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) > 1) return TheTables().streams.Find(handle);
  const std::lock_guard lock(TheSchedule().mutex);
  return NullStream(CurrentDevice());
}

int Enqueue(const std::shared_ptr<Stream>& stream, Operation operation) {
  {
    const std::lock_guard lock(TheSchedule().mutex);
    if (stream->capture != nullptr) return AddToCapture(*stream, std::move(operation));
    auto operations = std::make_shared<std::vector<Operation>>();
    operations->push_back(std::move(operation));
    if (const int error = PushOperations(*stream, operations); error != cudaSuccess) return error;
  }
  return AfterPush(stream, cudaSuccess);
}

int Launch(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Graph>& graph) {
  {
    const std::lock_guard lock(TheSchedule().mutex);
    if (stream->capture != nullptr) {
      for (const Operation& operation : *graph->operations) {
        if (const int error = AddToCapture(*stream, operation); error != cudaSuccess) return error;
      }
      return cudaSuccess;
    }
    if (const int error = PushOperations(*stream, graph->operations); error != cudaSuccess) return error;
  }
  return AfterPush(stream, cudaSuccess);
}

int Record(Event& event, const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(TheSchedule().mutex);
  if (stream->capture != nullptr) {
    if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
    event.capture = stream->capture;
    event.capture_clock = stream->capture->clocks[stream->id];
    event.point = nullptr;
    return cudaSuccess;
  }
  if (const int error = OrderWithNullStream(*stream); error != cudaSuccess) return error;
  stream->clock.Join(TheSchedule().host);
  event.capture = nullptr;
  event.point = PushPoint(*stream, event.timed);
  return cudaSuccess;
}

int WaitFor(const std::shared_ptr<Stream>& stream, const Event& event) {
  const std::lock_guard lock(TheSchedule().mutex);
  if (event.capture != nullptr) {
    if (stream->capture != nullptr && stream->capture != event.capture) return cudaErrorStreamCaptureIsolation;
    if (event.capture->invalid) return cudaErrorStreamCaptureInvalidated;
    if (stream->capture == nullptr) {
      stream->capture = event.capture;
      event.capture->members.push_back(stream);
    }
    event.capture->clocks[stream->id].Join(event.capture_clock);
    return cudaSuccess;
  }
  if (stream->capture != nullptr) {
    stream->capture->invalid = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (event.point != nullptr) PushWait(*stream, event.point);
  return cudaSuccess;
}

int Synchronize(const std::shared_ptr<Stream>& stream) {
  std::shared_ptr<Point> point;
  {
    const std::lock_guard lock(TheSchedule().mutex);
    if (const int error = RefuseCaptured(*stream); error != cudaSuccess) return error;
    point = PushPoint(*stream, false);
  }
  point->Wait();
  JoinHost(point->clock);
  return DeviceError(stream->device);
}

int SynchronizeDevice(int device) {
  std::vector<std::shared_ptr<Stream>> streams = TheTables().streams.All();
  streams.push_back(FindStream(nullptr));
  int error = cudaSuccess;
  for (const auto& stream : streams) {
    if (stream->device == device) error = std::max(error, Synchronize(stream));
  }
  return error;
}

int SynchronizeEvent(const Event& event) {
  if (event.capture != nullptr) {
    const std::lock_guard lock(TheSchedule().mutex);
    event.capture->invalid = true;
    return cudaErrorCapturedEvent;
  }
  if (event.point == nullptr) return cudaSuccess;
  event.point->Wait();
  JoinHost(event.point->clock);
  return cudaSuccess;
}

int Query(const std::shared_ptr<Stream>& stream) {
  std::shared_ptr<Point> point;
  {
    const std::lock_guard lock(TheSchedule().mutex);
    if (const int error = RefuseCaptured(*stream); error != cudaSuccess) return error;
    point = PushPoint(*stream, false);
  }
  // The point itself needs a moment to pass through an idle stream.
  for (int i = 0; i < 20 && !point->Done(); ++i) std::this_thread::sleep_for(std::chrono::microseconds(50));
  if (!point->Done()) return cudaErrorNotReady;
  JoinHost(point->clock);
  return cudaSuccess;
}

int QueryEvent(const Event& event) {
  if (event.capture != nullptr) return SynchronizeEvent(event);
  if (event.point == nullptr) return cudaSuccess;
  if (!event.point->Done()) return cudaErrorNotReady;
  JoinHost(event.point->clock);
  return cudaSuccess;
}

int BeginCapture(const std::shared_ptr<Stream>& stream, int mode) {
  const std::lock_guard lock(TheSchedule().mutex);
  if (IsNull(*stream)) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture != nullptr || mode < kCaptureGlobal || mode > kCaptureRelaxed) return cudaErrorInvalidValue;
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  capture->members = {stream};
  stream->capture = capture;
  TheSchedule().captures.push_back(capture);
  return cudaSuccess;
}

int EndCapture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph) {
  const std::lock_guard lock(TheSchedule().mutex);
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return cudaErrorInvalidValue;
  if (capture->origin != stream) return cudaErrorStreamCaptureUnmatched;
  if (capture->mode != kCaptureRelaxed && capture->thread != std::this_thread::get_id()) {
    return cudaErrorStreamCaptureWrongThread;
  }
  const Clock& joined = capture->clocks[stream->id];
  const bool unjoined = std::any_of(capture->nodes.begin(), capture->nodes.end(),
                                    [&](const Capture::Node& node) { return !joined.Holds(node.moment); });
  for (const auto& member : capture->members) member->capture = nullptr;
  capture->members.clear();
  capture->origin = nullptr;
  auto& captures = TheSchedule().captures;
  captures.erase(std::find(captures.begin(), captures.end(), capture));
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (unjoined) return cudaErrorStreamCaptureUnjoined;
  auto operations = std::make_shared<std::vector<Operation>>();
  for (Capture::Node& node : capture->nodes) operations->push_back(std::move(node.operation));
  *graph = std::make_shared<Graph>(Graph{stream->device, std::move(operations)});
  return cudaSuccess;
}

int CaptureStatus(const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(TheSchedule().mutex);
  if (stream->capture == nullptr) return 0;
  return stream->capture->invalid ? 2 : 1;
}

int ExchangeCaptureMode(int* mode) {
  if (*mode < kCaptureGlobal || *mode > kCaptureRelaxed) return cudaErrorInvalidValue;
  std::swap(*mode, thread_capture_mode);
  return cudaSuccess;
}

int CheckUncaptured(const char* call) {
  if (thread_capture_mode == kCaptureRelaxed) return cudaSuccess;
  const std::lock_guard lock(TheSchedule().mutex);
  for (const auto& capture : TheSchedule().captures) {
    const bool same_thread = capture->thread == std::this_thread::get_id();
    const bool forbidden = capture->mode == kCaptureGlobal || (capture->mode == kCaptureThreadLocal && same_thread);
    if (!forbidden) continue;
    capture->invalid = true;
    ReportViolation(std::string(call) + " during a stream capture");
    return cudaErrorStreamCaptureUnsupported;
  }
  return cudaSuccess;
}

void JoinHost(const Clock& clock) {
  const std::lock_guard lock(TheSchedule().mutex);
  TheSchedule().host.Join(clock);
}

}  // namespace emulator
