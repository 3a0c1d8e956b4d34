#pragma once

#include <cstddef>
#include <memory>

#include "native_error.h"

namespace cudnn_rnn {

class Inbox;

/// Memory on the device. The address appears when the worker runs the allocation, and the worker alone uses it; the last
/// owner's release queues the memory to be freed in stream order, on whatever thread that happens.
class DeviceBuffer {
 public:
  DeviceBuffer(std::shared_ptr<Inbox> inbox, std::size_t bytes) : bytes_(bytes), inbox_(std::move(inbox)) {}
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::size_t bytes() const { return bytes_; }
  /// `offset` bytes into the memory.
  void* at(std::size_t offset = 0) const { return static_cast<char*>(pointer_) + offset; }
  bool allocated() const { return pointer_ != nullptr; }
  void set_pointer(void* pointer) { pointer_ = pointer; }

  /// Why the contents are not what they should be: the error of the work that should have written them.
  ErrorRef error;

 private:
  const std::size_t bytes_;
  void* pointer_ = nullptr;
  const std::shared_ptr<Inbox> inbox_;
};

using BufferRef = std::shared_ptr<DeviceBuffer>;

}  // namespace cudnn_rnn
