#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/ledger.h"

namespace emulator {

/// A number that no handle had before: handles are not addresses, so that none can be read through and none is used twice.
std::uintptr_t NextHandleValue();

/// The live objects behind one kind of opaque handle. A handle that was destroyed, or was never made, finds nothing.
template <class Handle, class T>
class LiveObjects {
 public:
  explicit LiveObjects(const char* kind) : kind_(kind) {}

  Handle Add(std::shared_ptr<T> object) {
    const auto handle = reinterpret_cast<Handle>(NextHandleValue());
    const std::lock_guard lock(mutex_);
    objects_.emplace(handle, std::move(object));
    CountLive(kind_, 1);
    return handle;
  }

  std::shared_ptr<T> Find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  /// Takes the object out; null when there is none, which is reported if the handle is not null.
  std::shared_ptr<T> Remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) {
      if (handle != nullptr) ReportViolation(std::string("destroyed twice or never created: one of ") + kind_);
      return nullptr;
    }
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    CountLive(kind_, -1);
    return object;
  }

  std::vector<std::shared_ptr<T>> All() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<T>> all;
    for (const auto& [handle, object] : objects_) all.push_back(object);
    return all;
  }

 private:
  const char* kind_;
  mutable std::mutex mutex_;
  std::map<Handle, std::shared_ptr<T>> objects_;
};

}  // namespace emulator
