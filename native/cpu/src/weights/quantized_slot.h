// The place of quantized weights, which the objects and operations that use them hold together.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "weights/quantized_weights.h"

namespace cudnn_rnn {

class QuantizedSlot {
 public:
  // The slot of `key`, which all threads of the process share: it lives as long as one of them holds it.
  static std::shared_ptr<QuantizedSlot> Shared(const std::string& key);

  // Calls `make` unless the slot is filled. Threads that come meanwhile wait; if `make` throws, the next one tries.
  template <typename Make>
  void FillOnce(const Make& make) {
    const std::lock_guard lock(mutex_);
    if (weights_ == nullptr) weights_ = make();
  }

  // For threads that have called FillOnce.
  const QuantizedWeights* get() const { return weights_.get(); }

 private:
  std::mutex mutex_;
  // Written once, under the mutex; immutable afterwards.
  std::unique_ptr<QuantizedWeights> weights_;
};

}  // namespace cudnn_rnn
