#pragma once

#include <future>
#include <vector>

#include "sys/native_error.h"
#include "sys/nvidia_types.h"

namespace cudnn_rnn {

// Note [Calls on an executor's stream]. A call has two ends, because NCCL is called by the thread of the communicator
// alone, and the stream belongs to the worker of a session. JavaScript queues one end on each thread, so that the order
// of calls is its own order on both. The worker arrives after it has issued the commands before the call, and continues
// after NCCL has accepted the call. The thread of the communicator then polls an event behind the call. If one end
// is dropped, its promise is broken, which ends the wait at the other end. A communicator of several devices has one
// such pair for each of them.

/// A worker that has reached the call.
struct StreamArrival {
  cudaStream_t stream = nullptr;
  /// The arrays on the device, in the order of the batch's slots.
  std::vector<void*> arrays;
  /// Set if the arrays could not be computed.
  ErrorRef error;
};

/// The use of one device's arrays in a call. The root of a broadcast only reads them, so that its arrays stay
/// valid if the call fails; the others only write them, so that an earlier error of the arrays does not matter.
enum class StreamAccess { kReadWrite, kRead, kWrite };

/// The end of the call in a session's queue.
struct WorkerEnd {
  StreamAccess access = StreamAccess::kReadWrite;
  std::promise<StreamArrival> arrived;
  /// The error of the call; null if NCCL has taken it.
  std::future<ErrorRef> taken;
};

/// The end of the call in a communicator's queue.
struct CommunicatorEnd {
  std::future<StreamArrival> arrived;
  std::promise<ErrorRef> taken;
};

}  // namespace cudnn_rnn
