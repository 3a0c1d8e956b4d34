#pragma once

#include <string>
#include <vector>

#include "device/batch.h"
#include "device/objects.h"

namespace cudnn_rnn {

class Worker;

/// Reads the commands of a batch from left to right, on the worker's thread. The constructors of the structs in
/// commands.h call it field by field.
///
/// Nothing is thrown: a segment is read to its end even after an error, and `error()` is the first error.
class CommandReader {
 public:
  CommandReader(Worker& worker, Batch& batch) : worker_(worker), batch_(batch) {}

  bool AtEnd() const { return next_ >= batch_.words.size(); }
  /// Begins a segment. `error`: the error of an earlier segment; if set, nothing is allocated, and the objects that the
  /// segment would make carry that error.
  void BeginSegment(ErrorRef error);
  /// True at the next segment, or at the end.
  bool AtSegmentEnd() const;

  // One function for each kind of field in packages/cudnn/src/sys/commands.ts. `In`, `Out` and `InOut` resolve a buffer
  // by its slot and record the access; an `Optional…` returns null or an empty value for a field that was left out
  // (-1).
  int Int() { return static_cast<int>(Word()); }
  std::size_t Size() { return static_cast<std::size_t>(Word()); }
  double Double() { return Word(); }
  const Buffer* In() { return Access(true, false); }
  const Buffer* OptionalIn() { return IsAbsent() ? nullptr : In(); }
  Buffer* Out() { return Access(false, true); }
  Buffer* OptionalOut() { return IsAbsent() ? nullptr : Out(); }
  Buffer* InOut() { return Access(true, true); }
  template <typename D>
  DescriptorRef<D> Existing() {
    return DescriptorRef<D>(ExistingObject());
  }
  template <typename D>
  DescriptorRef<D> OptionalExisting() {
    return IsAbsent() ? DescriptorRef<D>(nullptr) : Existing<D>();
  }
  template <typename D>
  NewDescriptor<D> New() {
    return NewDescriptor<D>(NewObject());
  }
  Source HostSource() { return batch_.sources.at(Size()); }
  Source OptionalSource() { return IsAbsent() ? Source{} : HostSource(); }
  Target HostTarget() { return batch_.targets.at(Size()); }
  /// A graph to launch. The segment then reads and writes the graph's buffers, and a failed launch changes nothing.
  cudaGraphExec_t Launched();
  double Scalar() { return batch_.scalars.at(next_scalar_++); }
  /// The address at which a captured batch's kernel finds its scalars, of which it has read `count`; null otherwise.
  void* LiveScalars(std::size_t count);
  /// True if the kernels were compiled with -DREAL=double.
  bool has_double_scalars() const;

  /// Allocates the memory of a slot now, before the commands of the segment run.
  void Allocate();
  /// Notes a slot that is released after the commands of the segment.
  void Release() { released_.push_back(SlotId()); }
  /// Host memory in place of a device buffer.
  void AllocateOnHost();

  bool is_capturing() const { return batch_.graph != 0; }
  const ErrorRef& error() const { return error_; }
  /// True if a failure of this segment leaves buffers that it did not make as they were, as a graph launch does: all
  /// its kernels run, or none.
  bool spares_others() const { return spares_others_; }
  // Ids of the segment so far: of buffers read and written, of objects made, and of those to release.
  const std::vector<Id>& reads() const { return reads_; }
  const std::vector<Id>& writes() const { return writes_; }
  const std::vector<Id>& made() const { return made_; }
  const std::vector<Id>& released() const { return released_; }

 private:
  double Word() { return batch_.words.at(next_++); }
  bool IsAbsent();
  Id SlotId() { return batch_.slots.at(Size()); }
  Buffer* Access(bool reads, bool writes);
  Object* ExistingObject();
  Object* NewObject();
  void Fail(ErrorRef error) {
    if (!error_) error_ = std::move(error);
  }

  Worker& worker_;
  Batch& batch_;
  std::size_t next_ = 0;
  std::size_t next_scalar_ = 0;
  ErrorRef error_;
  bool spares_others_ = false;
  std::vector<Id> reads_;
  std::vector<Id> writes_;
  std::vector<Id> made_;
  std::vector<Id> released_;
};

}  // namespace cudnn_rnn
