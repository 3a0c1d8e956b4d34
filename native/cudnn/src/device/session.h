#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "device/close_barrier.h"
#include "device/command_queue.h"
#include "device/worker.h"

namespace cudnn_rnn {

/// The refusal of a closed session; packages/cudnn reports it as ERR_BACKEND_DISPOSED.
NativeError SessionClosed(const char* call);

/// One executor's device: a worker thread that makes all calls in order, a second one that waits for the device, and
/// the command queue between them and JavaScript.
///
/// Note [Threads]. The CUDA device, the cuDNN handle and stream capture all belong to a thread, and calls may block
/// when the device's queue is full: so every call is made by the worker. Waiting for events is left to the waiter, so
/// that the worker keeps the device fed. JavaScript's thread submits batches and is notified of their ends by `settle`.
/// It blocks in submitAndWait() alone, which needs nothing of it.
class Session {
 public:
  /// `settle` is called with every batch that has a settlement, from any thread; with null once, when the device has
  /// everything back and nothing will be settled any more.
  using Settle = std::function<void(std::unique_ptr<Batch>)>;

  Session(std::shared_ptr<const Libraries> libraries, int device, Settle settle);
  ~Session();

  /// Starts the threads; `first` settles when the device is open, or with the error that prevents it.
  void Start(std::unique_ptr<Batch> first);
  /// Queues a batch; false, with the batch left to the caller, after BeginClose().
  bool Post(std::unique_ptr<Batch>& batch, bool is_exclusive) { return queue_.Post(batch, is_exclusive); }
  /// Drops the batches that have not begun and ends the threads after the batch under way. Never waits; idempotent.
  void BeginClose();
  /// Like BeginClose, and waits for the threads: no call is under way afterwards. Idempotent.
  void Close();

  HostBlockPool& host_blocks() { return host_blocks_; }
  /// Valid from the settlement of the first batch on; constant afterwards.
  const DeviceInfo& info() const { return info_; }
  bool closed() const { return closed_; }

 private:
  /// A batch whose work is queued on the device. `event` is null if the stream was synchronized instead.
  struct Waiting {
    cudaEvent_t event = nullptr;
    std::unique_ptr<Batch> batch;
  };

  void RunWorker(std::unique_ptr<Batch> first);
  void RunWaiter();
  /// Hands `batch` to the waiter if something of it is still under way on the device, else ends it.
  void Dispatch(std::unique_ptr<Batch> batch);
  /// Copies downloads out, gives staging memory back, and settles.
  void Finish(std::unique_ptr<Batch> batch);

  // Order matters: members are destroyed in reverse, so the worker is destroyed before the pool that its batches'
  // blocks return to, and that before the libraries.
  const std::shared_ptr<const Libraries> libraries_;
  const Settle settle_;
  CloseBarrier barrier_;
  HostBlockPool host_blocks_;
  Worker worker_;
  DeviceInfo info_;
  CommandQueue queue_;
  /// On JavaScript's thread only (or the one that owns the session).
  bool closed_ = false;
  /// Held while the batches that a close drops are settled.
  std::mutex dropping_;

  /// The status of cudaSetDevice on the waiter's thread.
  std::promise<cudaError_t> waiter_ready_;
  std::mutex waiting_mutex_;
  std::condition_variable waiting_changed_;
  std::deque<Waiting> waiting_;
  bool no_more_waiting_ = false;

  std::thread worker_thread_;
  std::thread waiter_thread_;
};

}  // namespace cudnn_rnn
