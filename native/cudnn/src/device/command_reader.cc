#include "device/command_reader.h"

#include <cstring>

#include "commands.h"
#include "device/worker.h"

namespace cudnn_rnn {
namespace {

/// An id that names nothing: an error of packages/cudnn, or an object whose batch was dropped at close.
ErrorRef Unknown(const char* what) {
  return std::make_shared<NativeError>("session", "submit", "UNKNOWN_OBJECT", what);
}

}  // namespace

void CommandReader::BeginSegment(ErrorRef error) {
  // Skips the opcode kSegment.
  next_++;
  error_ = std::move(error);
  // A captured batch is one segment to the graph.
  if (is_capturing()) return;
  spares_others_ = false;
  reads_.clear();
  writes_.clear();
  made_.clear();
  released_.clear();
}

bool CommandReader::AtSegmentEnd() const {
  return AtEnd() || batch_.words[next_] == static_cast<double>(Opcode::kSegment);
}

bool CommandReader::IsAbsent() {
  // -1 stands for a field that was left out; slots, ids and sizes are never negative.
  if (batch_.words.at(next_) >= 0) return false;
  next_++;
  return true;
}

Buffer* CommandReader::Access(bool reads, bool writes) {
  // A stand-in, so that reading continues to the end of the segment; a segment with an error runs no command.
  static Buffer none;
  const Id id = SlotId();
  Object* object = worker_.Find(id);
  if (object == nullptr) {
    Fail(Unknown("a buffer"));
    return &none;
  }
  if (reads) {
    reads_.push_back(id);
    // Reading invalid contents makes this segment fail with the original error.
    if (object->error) Fail(object->error);
  }
  if (writes) writes_.push_back(id);
  auto* buffer = std::get_if<Buffer>(&object->value);
  if (buffer != nullptr) return buffer;
  // Its allocation failed.
  Fail(object->error ? object->error : Unknown("no buffer"));
  return &none;
}

Object* CommandReader::ExistingObject() {
  static Object none;
  Object* object = worker_.Find(static_cast<Id>(Word()));
  if (object == nullptr) {
    Fail(Unknown("a descriptor"));
    return &none;
  }
  // A descriptor that was never set must not reach cuDNN.
  if (object->error) Fail(object->error);
  return object;
}

Object* CommandReader::NewObject() {
  // Ids of descriptors are in the words themselves; buffers are named by slot, as graphs may replace them.
  const Id id = static_cast<Id>(Word());
  made_.push_back(id);
  writes_.push_back(id);
  Object& object = worker_.Make(id);
  // Cleared or replaced when the segment ends (Worker::RunSegments).
  object.error = error_;
  return &object;
}

cudaGraphExec_t CommandReader::Launched() {
  spares_others_ = true;
  const Object* object = ExistingObject();
  const auto* graph = std::get_if<Graph>(&object->value);
  if (graph == nullptr) {
    Fail(Unknown("a graph"));
    return nullptr;
  }
  // The reads are checked for every launch: a buffer may have become invalid after the capture.
  for (const Id id : graph->reads) {
    const Object* read = worker_.Find(id);
    if (read == nullptr || read->error) Fail(read == nullptr ? Unknown("a buffer of a graph") : read->error);
  }
  writes_.insert(writes_.end(), graph->writes.begin(), graph->writes.end());
  return graph->executable;
}

bool CommandReader::has_double_scalars() const { return worker_.has_double_scalars; }

void* CommandReader::LiveScalars(std::size_t count) {
  if (batch_.live_scalars == 0) return nullptr;
  const Object* object = worker_.Find(batch_.live_scalars);
  const auto* buffer = object == nullptr ? nullptr : std::get_if<Buffer>(&object->value);
  if (buffer != nullptr)
    // Scalars are in the buffer in the order of the commands, so the offset of a kernel's scalars is their index in the
    // batch.
    return buffer->at((next_scalar_ - count) * (has_double_scalars() ? sizeof(double) : sizeof(float)));
  Fail(object != nullptr && object->error ? object->error : Unknown("the scalars"));
  return nullptr;
}

void CommandReader::Allocate() {
  const Id id = SlotId();
  const std::size_t bytes = Size();
  // A graph's memory was allocated before.
  if (is_capturing()) return;
  made_.push_back(id);
  writes_.push_back(id);
  Object& object = worker_.Make(id);
  // In stream order; the commands of the segment are queued after it.
  if (!error_) error_ = ErrorIn([&] { object.value = Buffer{worker_.Allocate(bytes), bytes}; });
  object.error = error_;
}

void CommandReader::AllocateOnHost() {
  const Id id = SlotId();
  const std::size_t bytes = Size();
  made_.push_back(id);
  // The batch owns it, and Worker::live_ does not have it, so Release() does not pass it to cudaFree.
  const HostBlockRef block = worker_.host_blocks.TakeWithoutCuda(bytes);
  std::memset(block->data, 0, bytes);
  batch_.sources.push_back({block, bytes});
  worker_.Make(id).value = Buffer{block->data, bytes};
}

}  // namespace cudnn_rnn
