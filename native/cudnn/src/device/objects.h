#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "device/descriptor.h"
#include "sys/native_error.h"

namespace cudnn_rnn {

/// JavaScript's number for an object of one session. Numbers are never used twice.
using Id = std::uint64_t;

/// Memory on the device. Freed by Worker::Release, in stream order if the device has memory pools.
struct Buffer {
  void* pointer = nullptr;
  std::size_t bytes = 0;

  void* at(std::size_t offset = 0) const { return static_cast<char*>(pointer) + offset; }
};

/// A captured batch. The addresses in it are fixed: JavaScript releases it before the buffers.
struct Graph {
  cudaGraphExec_t executable = nullptr;
  /// External buffers that a launch reads and writes: their errors are checked before, and set after, each launch.
  std::vector<Id> reads;
  std::vector<Id> writes;
};

/// A module of kernels. Each is looked up at its first use, as the driver may load its code then.
class KernelModule {
 public:
  explicit KernelModule(const Libraries& libraries) : libraries_(libraries) {}
  ~KernelModule() { Unload(); }
  KernelModule(const KernelModule&) = delete;
  KernelModule& operator=(const KernelModule&) = delete;

  void Unload() {
    if (CUmodule loaded = std::exchange(module, nullptr)) libraries_.driver.cuModuleUnload(loaded);
  }
  const KernelModule* get() const { return this; }
  /// The kernel of this number, by its unmangled name (extern "C"). Throws NativeError.
  CUfunction Function(std::size_t number, const char* name) const;

  CUmodule module = nullptr;

 private:
  const Libraries& libraries_;
  mutable std::map<std::size_t, CUfunction> functions_;
};

/// An object of a session, owned by its worker.
struct Object {
  std::variant<std::monostate, Buffer, Graph, TensorDescriptor, DropoutDescriptor, RnnDescriptor, DataDescriptor,
               CtcLossDescriptor, KernelModule>
      value;
  /// Set if the contents are invalid: the error of the batch that should have made or written them.
  ErrorRef error;
};

/// A descriptor that a command uses. A command earlier in the same batch may make it.
template <typename D>
class DescriptorRef {
 public:
  explicit DescriptorRef(const Object* object) : object_(object) {}
  /// cuDNN's handle; null for an optional descriptor that was left out.
  auto get() const { return object_ == nullptr ? nullptr : std::get<D>(object_->value).get(); }

 private:
  const Object* object_;
};

/// A descriptor that a command makes.
template <typename D>
class NewDescriptor {
 public:
  explicit NewDescriptor(Object* object) : object_(object) {}
  D& Make(const Libraries& libraries) const { return object_->value.emplace<D>(libraries); }

 private:
  Object* object_;
};

}  // namespace cudnn_rnn
