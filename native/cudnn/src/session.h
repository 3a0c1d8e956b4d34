#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "device_turn.h"
#include "inbox.h"
#include "worker.h"

namespace cudnn_rnn {

/// The refusal of a closed session; packages/cudnn says it as ERR_BACKEND_DISPOSED.
NativeError SessionClosed(const char* call);

/// One executor's device: a worker thread that makes all calls in order, a second one that waits for the device, and the
/// inbox between them and JavaScript.
///
/// Note [Threads]. The CUDA device, the cuDNN handle and stream capture all belong to a thread, and calls may block when
/// the device's queue is full: so every call is made by the worker. Waiting for events is left to the waiter, so that
/// the worker keeps the device fed. JavaScript's thread only appends commands, and is told of ends by `settle`.
class Session : public std::enable_shared_from_this<Session> {
 public:
  /// `settle` is called with every batch that has a settlement, from any thread; with null once, when the device has
  /// given everything back and nothing will be settled any more.
  using Settle = std::function<void(std::unique_ptr<Batch>)>;

  Session(std::shared_ptr<const Libraries> libraries, int device, Settle settle);
  ~Session();

  /// Starts the threads; `first` settles when the device is open, or with the error that prevents it.
  void Start(std::unique_ptr<Batch> first);

  /// The batch that JavaScript is putting together.
  Batch& pending();
  std::unique_ptr<Batch> TakePending();
  bool Post(std::unique_ptr<Batch>& batch, bool urgent) { return inbox_->Post(batch, urgent); }
  /// Drops what was not begun and lets the threads end once what was begun is done. Never waits; idempotent.
  void BeginClose();
  /// As BeginClose, and waits for the threads: no call is under way afterwards. Idempotent.
  void Close();

  /// Destroys a handle on the worker's thread, or on another with this device where the worker has ended.
  void DestroyHandle(Retired retire);

  const Libraries& libraries() const { return *libraries_; }
  const std::shared_ptr<Inbox>& inbox() const { return inbox_; }
  HostBlockPool& host_blocks() { return host_blocks_; }
  const DeviceInfo& info() const { return info_; }
  bool closed() const { return closed_; }

 private:
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

  const std::shared_ptr<const Libraries> libraries_;
  const Settle settle_;
  DeviceTurn turn_;
  HostBlockPool host_blocks_;
  Worker worker_;
  DeviceInfo info_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::unique_ptr<Batch> pending_;
  bool closed_ = false;

  std::mutex waiting_mutex_;
  std::condition_variable waiting_changed_;
  std::deque<Waiting> waiting_;
  bool no_more_waiting_ = false;

  std::thread worker_thread_;
  std::thread waiter_thread_;
};

}  // namespace cudnn_rnn
