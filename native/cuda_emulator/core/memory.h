#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/clock.h"

namespace emulator {

/// A sticky error of the device, as a kernel causes it that accesses memory it must not.
class DeviceFault : public std::runtime_error {
 public:
  DeviceFault(int error, const std::string& text) : std::runtime_error(text), error_(error) {}
  int error() const { return error_; }

 private:
  int error_;
};

/// A range of memory that an operation reads or writes. Size 0 stands for the whole allocation that holds `pointer`.
struct Access {
  const void* pointer = nullptr;
  std::size_t bytes = 0;
  bool write = false;
};

// Note [Device memory]
// A device pointer is an address in an arena that is never readable; the bytes live at the same offset of a second
// arena, which is private to this library. So a host access to device memory faults immediately, and an operation can only
// access the ranges that it resolved. Each allocation is on separate pages between inaccessible pages, is filled
// with 0xFF (NaN in every floating-point type), ends in canaries, and its addresses are never reused.

/// Allocates on `device`; null when its memory, as set, does not suffice. `stream` owns it until others are ordered
/// after it (0: usable by all).
void* AllocateDevice(int device, std::size_t bytes);

/// Frees; false when `pointer` is no live allocation.
bool FreeDevice(void* pointer);

/// Bytes of `device` in use.
std::size_t DeviceBytesUsed(int device);

/// The live allocation that holds `pointer`: its begin, size and device; size 0 when there is none.
struct Extent {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  int device = 0;
};
Extent FindDeviceExtent(const void* pointer);

/// Page-locked host memory, allocated here or registered.
void* AllocatePinned(std::size_t bytes);
bool FreePinned(void* pointer);
bool RegisterPinned(void* pointer, std::size_t bytes);
bool UnregisterPinned(void* pointer);
bool IsPinned(const void* pointer, std::size_t bytes);

/// True for an address of the device arena, live or not.
bool IsDeviceAddress(const void* pointer);

/// The bytes of `pointer` for an operation on `device`: throws DeviceFault (illegal address) unless all
/// `bytes` are in one live allocation of a device it may reach, or in page-locked host memory. With `bytes` 0 only
/// the start is looked at.
void* Resolve(int device, const void* pointer, std::size_t bytes, const char* what);

template <class T>
T* ResolveArray(int device, T* pointer, std::size_t count, const char* what) {
  return static_cast<T*>(Resolve(device, pointer, count * sizeof(T), what));
}

/// Checks that an access at `moment` comes after every earlier access that it conflicts with, by `known`, and notes it.
/// Conflicts are reported as violations: they are races, however they went this time.
void CheckOrder(const char* operation, const Access& access, Moment moment, const Clock& known);

}  // namespace emulator
