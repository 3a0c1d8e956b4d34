#pragma once

namespace cudnn_rnn {

/// Lets a session open on a device only after the sessions of this process that are closing on it.
///
/// Note [Closing]. Closing a session returns immediately, so its memory may still be taken when the next one opens. The
/// worker of the next one therefore waits for those that are closing: disposed memory is free again, and JavaScript's
/// thread does not wait for it.
class CloseBarrier {
 public:
  explicit CloseBarrier(int device) : device_(device) {}

  /// Waits until no session of the device is closing. On the worker's thread.
  void Open();
  /// From here on others wait. On any thread, at any time.
  void BeginClose();
  /// The device has everything back. On the worker's thread.
  void End();

 private:
  /// Transitions: waiting → open → closing → ended. A session that fails to open, or was closed before, moves from open
  /// to ended: it held nothing that another one must wait for.
  enum class State { kWaiting, kOpen, kClosing, kEnded };

  const int device_;
  // Guarded by the mutex of the process-wide counts, not by a separate one: BeginClose() races with Open().
  State state_ = State::kWaiting;
};

}  // namespace cudnn_rnn
