#pragma once

#include <vector>

#include "test/check.h"
#include "test/libraries.h"

/// A device array of T for a test: made from host values, read back, freed at the end of its life.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : count_(values.size()) {
    CHECK_EQUAL(cuda().cudaMalloc(&pointer_, Bytes()), cudaSuccess);
    CHECK_EQUAL(cuda().cudaMemcpy(pointer_, values.data(), Bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  explicit DeviceArray(std::size_t count, T value = T()) : DeviceArray(std::vector<T>(count, value)) {}
  ~DeviceArray() { cuda().cudaFree(pointer_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return static_cast<T*>(pointer_); }
  std::size_t Bytes() const { return count_ * sizeof(T); }
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    CHECK_EQUAL(cuda().cudaMemcpy(values.data(), pointer_, Bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

 private:
  std::size_t count_;
  void* pointer_ = nullptr;
};
