#pragma once

namespace cudnn_rnn {

/// One session's turn on a device of this process.
///
/// Note [Closing]. Closing a session returns at once, so what it held may still be taken when the next one opens. The
/// next one's worker therefore waits for those that are closing: memory that was disposed is there again, and nobody's
/// JavaScript waits for it.
class DeviceTurn {
 public:
  explicit DeviceTurn(int device) : device_(device) {}

  /// Waits until no session of the device is closing. On the worker's thread.
  void Open();
  /// From here on others wait. On any thread, at any time.
  void BeginClose();
  /// The device has everything back. On the worker's thread.
  void End();

 private:
  enum class State { kWaiting, kOpen, kClosing, kEnded };

  const int device_;
  State state_ = State::kWaiting;
};

}  // namespace cudnn_rnn
