#include "core/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "abi/cudart.h"
#include "core/device.h"
#include "core/ledger.h"
#include "core/settings.h"

namespace emulator {
namespace {

// Address space only: the system maps memory when it is used. Sanitizers and limits may leave less room than this.
constexpr std::size_t kLargestArena = 4ull << 40;
constexpr std::size_t kSmallestArena = 16ull << 30;
constexpr unsigned char kFresh = 0xFF;
constexpr unsigned char kCanary = 0xC5;

struct PastAccess {
  std::uintptr_t begin;
  std::uintptr_t end;
  Moment moment;
  bool write;
};

struct Allocation {
  std::size_t bytes = 0;
  std::size_t room = 0;  // whole pages
  int device = 0;
  std::vector<PastAccess> accesses;
};

struct Memory {
  std::mutex mutex;
  std::uintptr_t arena = 0;
  std::uintptr_t shadow = 0;
  std::size_t room = 0;  // of either arena
  std::size_t next = 0;  // offset of the first address never used
  std::map<std::uintptr_t, Allocation> live;
  std::map<int, std::size_t> used;
  std::map<std::uintptr_t, std::size_t> pinned;
};

void ReserveArenas(Memory& memory) {
  for (std::size_t room = kLargestArena; room >= kSmallestArena; room /= 2) {
    void* both = mmap(nullptr, 2 * room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (both == MAP_FAILED) continue;
    memory.arena = reinterpret_cast<std::uintptr_t>(both);
    memory.shadow = memory.arena + room;
    memory.room = room;
    return;
  }
}

Memory& TheMemory() {
  static Memory* memory = [] {
    auto* made = new Memory;  // never destroyed, see settings.cc
    ReserveArenas(*made);
    return made;
  }();
  return *memory;
}

std::uintptr_t Address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

unsigned char* Shadow(std::uintptr_t address) {
  return reinterpret_cast<unsigned char*>(address - TheMemory().arena + TheMemory().shadow);
}

// The live allocation whose range holds `address`. The caller holds the mutex.
std::map<std::uintptr_t, Allocation>::iterator Holding(std::uintptr_t address) {
  Memory& memory = TheMemory();
  auto after = memory.live.upper_bound(address);
  if (after == memory.live.begin()) return memory.live.end();
  const auto candidate = std::prev(after);
  return address < candidate->first + candidate->second.bytes ? candidate : memory.live.end();
}

// Fills new memory. Large pieces show one file full of the pattern, page by page copied when it is written: a work
// space of many megabytes costs nothing until it is used.
void FillFresh(unsigned char* at, std::size_t bytes) {
  constexpr std::size_t kPiece = 2 << 20;
  static const int pattern = [] {
    const int file = memfd_create("fresh device memory", MFD_CLOEXEC);
    const std::vector<unsigned char> content(kPiece, kFresh);
    return write(file, content.data(), kPiece) == static_cast<ssize_t>(kPiece) ? file : -1;
  }();
  const auto map = [](unsigned char* place) {
    return mmap(place, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, pattern, 0) != MAP_FAILED;
  };
  while (bytes >= kPiece && pattern >= 0 && map(at)) {
    at += kPiece;
    bytes -= kPiece;
  }
  std::memset(at, kFresh, bytes);
}

void CheckCanaries(std::uintptr_t begin, const Allocation& allocation) {
  const unsigned char* bytes = Shadow(begin);
  for (std::size_t i = allocation.bytes; i < allocation.room; ++i) {
    if (bytes[i] != kCanary) {
      ReportViolation("an operation wrote past the end of a device allocation of " + std::to_string(allocation.bytes) +
                      " bytes, at byte " + std::to_string(i));
      return;
    }
  }
}

bool InsidePinned(std::uintptr_t address, std::size_t bytes) {
  const auto& pinned = TheMemory().pinned;
  auto after = pinned.upper_bound(address);
  if (after == pinned.begin()) return false;
  const auto& [begin, room] = *std::prev(after);
  return address + std::max<std::size_t>(bytes, 1) <= begin + room;
}

}  // namespace

void* AllocateDevice(int device, std::size_t bytes) {
  const std::size_t limit = CurrentSettings()->memory;
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t room = (bytes + page - 1) / page * page;
  if (memory.used[device] + bytes > limit || memory.next + room + page > memory.room) return nullptr;
  const std::uintptr_t address = memory.arena + memory.next;
  unsigned char* shadow = Shadow(address);
  if (mprotect(shadow, room, PROT_READ | PROT_WRITE) != 0) return nullptr;
  FillFresh(shadow, bytes);
  std::memset(shadow + bytes, kCanary, room - bytes);
  memory.next += room + page;
  memory.used[device] += bytes;
  memory.live.emplace(address, Allocation{bytes, room, device, {}});
  CountLive("device allocations", 1);
  CountLive("device bytes", static_cast<long>(bytes));
  return reinterpret_cast<void*>(address);
}

bool FreeDevice(void* pointer) {
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  const auto found = memory.live.find(Address(pointer));
  if (found == memory.live.end()) return false;
  const Allocation& allocation = found->second;
  CheckCanaries(found->first, allocation);
  // A new mapping over the pages returns their memory to the system and makes them inaccessible.
  mmap(Shadow(found->first), allocation.room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
       0);
  memory.used[allocation.device] -= allocation.bytes;
  CountLive("device allocations", -1);
  CountLive("device bytes", -static_cast<long>(allocation.bytes));
  memory.live.erase(found);
  return true;
}

std::size_t DeviceBytesUsed(int device) {
  const std::lock_guard lock(TheMemory().mutex);
  return TheMemory().used[device];
}

Extent FindDeviceExtent(const void* pointer) {
  const std::lock_guard lock(TheMemory().mutex);
  const auto found = Holding(Address(pointer));
  if (found == TheMemory().live.end()) return {};
  return {found->first, found->second.bytes, found->second.device};
}

void* AllocatePinned(std::size_t bytes) {
  void* pointer = nullptr;
  if (posix_memalign(&pointer, 4096, std::max<std::size_t>(bytes, 1)) != 0) return nullptr;
  std::memset(pointer, kFresh, bytes);
  const std::lock_guard lock(TheMemory().mutex);
  TheMemory().pinned[Address(pointer)] = bytes;
  CountLive("pinned allocations", 1);
  return pointer;
}

bool FreePinned(void* pointer) {
  {
    const std::lock_guard lock(TheMemory().mutex);
    if (TheMemory().pinned.erase(Address(pointer)) == 0) return false;
  }
  CountLive("pinned allocations", -1);
  std::free(pointer);
  return true;
}

bool RegisterPinned(void* pointer, std::size_t bytes) {
  const std::lock_guard lock(TheMemory().mutex);
  if (InsidePinned(Address(pointer), 1)) return false;
  TheMemory().pinned[Address(pointer)] = bytes;
  CountLive("pinned registrations", 1);
  return true;
}

bool UnregisterPinned(void* pointer) {
  const std::lock_guard lock(TheMemory().mutex);
  if (TheMemory().pinned.erase(Address(pointer)) == 0) return false;
  CountLive("pinned registrations", -1);
  return true;
}

bool IsPinned(const void* pointer, std::size_t bytes) {
  const std::lock_guard lock(TheMemory().mutex);
  return InsidePinned(Address(pointer), bytes);
}

bool IsDeviceAddress(const void* pointer) {
  const Memory& memory = TheMemory();
  return Address(pointer) >= memory.arena && Address(pointer) < memory.arena + memory.room;
}

void* Resolve(int device, const void* pointer, std::size_t bytes, const char* what) {
  const auto illegal = [&](const std::string& why) {
    return DeviceFault(cudaErrorIllegalAddress, std::string(what) + ": " + why);
  };
  const std::lock_guard lock(TheMemory().mutex);
  const std::uintptr_t address = Address(pointer);
  if (pointer == nullptr) throw illegal("null pointer");
  if (!IsDeviceAddress(pointer)) {
    if (!InsidePinned(address, bytes)) throw illegal("host pointer given as a device pointer");
    return const_cast<void*>(pointer);
  }
  const auto found = Holding(address);
  if (found == TheMemory().live.end()) throw illegal("device memory that was freed or never allocated");
  const Allocation& allocation = found->second;
  if (address + bytes > found->first + allocation.bytes) {
    throw illegal(std::to_string(bytes) + " bytes wanted where " +
                  std::to_string(found->first + allocation.bytes - address) + " are left of the allocation");
  }
  if (allocation.device != device && !CanReachPeer(device, allocation.device)) {
    throw illegal("memory of another device");
  }
  return Shadow(address);
}

void CheckOrder(const char* operation, const Access& access, Moment moment, const Clock& known) {
  Memory& memory = TheMemory();
  const std::lock_guard lock(memory.mutex);
  const std::uintptr_t begin = Address(access.pointer);
  const auto found = Holding(begin);
  if (found == memory.live.end()) return;  // host memory, or an address that Resolve refuses
  Allocation& allocation = found->second;
  const std::uintptr_t end = access.bytes == 0 ? found->first + allocation.bytes : begin + access.bytes;
  auto& past = allocation.accesses;
  for (const PastAccess& other : past) {
    if (other.begin < end && begin < other.end && (other.write || access.write) && !known.Holds(other.moment)) {
      ReportViolation(std::string(operation) + (access.write ? " writes" : " reads") +
                      " device memory that another stream " + (other.write ? "writes" : "reads") +
                      ", with no event or synchronization between them");
      break;
    }
  }
  // An earlier access that this one covers and follows is dropped: a later access that races with it races with this
  // one too.
  past.erase(std::remove_if(past.begin(), past.end(),
                            [&](const PastAccess& other) {
                              const bool covered = begin <= other.begin && other.end <= end;
                              return covered && known.Holds(other.moment) && (access.write || !other.write);
                            }),
             past.end());
  past.push_back({begin, end, moment, access.write});
}

}  // namespace emulator
