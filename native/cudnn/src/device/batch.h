#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "device/host_block.h"
#include "device/objects.h"
#include "device/stream_call.h"
#include "sys/native_error.h"

namespace cudnn_rnn {

/// A host array that a command reads. `block` is a copy made when the batch was submitted, so JavaScript may change the
/// array at once.
struct Source {
  HostBlockRef block;
  std::size_t bytes = 0;
};

/// A host array that a download fills. `data` is the memory of a JavaScript array, which the batch's settlement keeps
/// alive. It is written before the promise resolves, and never if the batch fails.
struct Target {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Staging memory of a copy that may still be under way on the device. It must stay allocated until the stream has
/// reached the copy. `destination` is set for downloads alone: the host array to copy to afterwards.
struct Transfer {
  HostBlockRef block;
  void* destination = nullptr;
  std::size_t bytes = 0;
};

/// One submission of commands, as packages/cudnn/src/device/command_list.ts records them.
///
/// `words` are segments: kSegment, then commands. A segment is atomic in its effect: its memory is allocated before its
/// first command runs, and after the first failure the rest of the batch is skipped. The outputs of failed and skipped
/// commands carry the error, and so do the outputs of later commands that read them.
struct Batch {
  /// Opcodes and fields, in doubles: JavaScript's numbers, exact for integers up to 2^53.
  std::vector<double> words;
  /// The buffers that the commands name by index.
  std::vector<Id> slots;
  /// Values of the kernels' scalar parameters, in the order of the commands.
  std::vector<double> scalars;
  std::vector<Source> sources;
  std::vector<Target> targets;
  /// Released after the commands, also if they failed.
  std::vector<Id> releases;

  /// After this batch only exclusive ones run, until one of them ends that.
  bool begins_exclusive = false;
  bool ends_exclusive = false;
  /// Settle when the device is done, not when the work is queued on it.
  bool waits = false;
  /// Report the milliseconds that the device took.
  bool is_timed = false;
  /// The submitter learns of a failure: segments that did not begin leave the buffers of others as they were.
  bool is_step = false;
  /// Capture the commands into the graph of this id, instead of running them.
  Id graph = 0;
  /// Memory from which the captured kernels read their scalars.
  Id live_scalars = 0;
  /// A call of NCCL on the memory of `slots`, in the place of commands; see Note [Calls on an executor's stream].
  std::optional<WorkerEnd> stream_call;
  /// Run this batch only if the last capture of the session succeeded, or only if it failed.
  enum class Condition { kAlways, kIfCaptured, kUnlessCaptured } condition = Condition::kAlways;

  // Written by the worker.
  std::vector<Transfer> transfers;
  std::vector<double> results;
  ErrorRef error;
  /// Index of the segment that `error` comes from; packages/cudnn names its action in the message.
  std::size_t failed_segment = 0;

  /// The promise of the batch, which JavaScript's thread reads; null if nothing waits for the batch.
  std::shared_ptr<void> settlement;
};

}  // namespace cudnn_rnn
