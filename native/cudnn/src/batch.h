#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device_buffer.h"
#include "host_block.h"
#include "native_error.h"

namespace cudnn_rnn {

struct Worker;
struct Batch;

/// One C call with its arguments, run on the session's worker thread.
using Command = std::function<void(Worker&, Batch&)>;

/// Page-locked memory between the host's arrays and the device. `destination` is set for downloads alone.
struct Transfer {
  HostBlockRef block;
  void* destination = nullptr;
  std::size_t bytes = 0;
};

/// Commands that stand or fall together: after the first failure the rest is skipped and everything the batch was to
/// write carries the error, as does a batch that reads such a buffer.
///
/// Memory is allocated before anything runs, so that running out of it changes nothing, and so that commands can be
/// captured into a graph whatever buffers they make.
struct Batch {
  std::vector<BufferRef> allocations;
  std::vector<Command> commands;
  std::vector<BufferRef> reads;
  std::vector<BufferRef> writes;
  /// After this batch only urgent ones run, until one of them releases.
  bool hold = false;
  bool release = false;
  /// Settle when the device is done, not when the work is queued on it.
  bool wait = false;
  /// A failure leaves the buffers of others as they were: commands that write them are captured, or one launch of a graph
  /// that failed as a whole. Only what the batch allocated carries the error.
  bool spares_others = false;
  /// Batches of one step, queued one after another: after the first failure the rest of them is skipped, and whatever did
  /// not begin leaves the buffers of others as they were.
  enum { kAlone, kFirstOfStep, kOfStep } place = kAlone;

  // Written by the worker.
  std::vector<Transfer> transfers;
  std::vector<double> results;
  ErrorRef error;

  /// Whoever waits for the batch, as JavaScript's thread knows it; null where nobody does.
  void* settlement = nullptr;
};

}  // namespace cudnn_rnn
