#include "weights/quantized_slot.h"

#include <unordered_map>

namespace cudnn_rnn {

std::shared_ptr<QuantizedSlot> QuantizedSlot::Shared(const std::string& key) {
  static std::mutex mutex;
  // Never destroyed: threads may outlive the destructors of the process.
  static auto* slots = new std::unordered_map<std::string, std::weak_ptr<QuantizedSlot>>();
  const std::lock_guard lock(mutex);
  std::erase_if(*slots, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<QuantizedSlot>& place = (*slots)[key];
  std::shared_ptr<QuantizedSlot> slot = place.lock();
  if (slot == nullptr) place = slot = std::make_shared<QuantizedSlot>();
  return slot;
}

}  // namespace cudnn_rnn
