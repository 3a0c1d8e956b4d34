#pragma once

#include "cublas/handle.h"
#include "numeric/float_type.h"

namespace emulator {

/// α or β: read at the call in host pointer mode, on the device when the operation runs in the other.
class Scalar {
 public:
  Scalar(const CublasHandle& handle, FloatType type, const void* pointer)
      : type_(type), pointer_(pointer), on_device_(handle.pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    if (!on_device_) value_ = Load(type, pointer, 0, 1).front();
  }

  double At(int device) const {
    return on_device_ ? Load(type_, Resolve(device, pointer_, SizeOf(type_), "scalar"), 0, 1).front() : value_;
  }

 private:
  FloatType type_;
  const void* pointer_;
  bool on_device_;
  double value_ = 0;
};

}  // namespace emulator
