#include "memory/block_cache.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace cudnn_rnn {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

bool IsAligned(const void* data, size_t alignment) { return reinterpret_cast<uintptr_t>(data) % alignment == 0; }

TEST_CASE("MemoryBlock is aligned to a cache line, and to a huge page from its size on") {
  for (const size_t bytes : {size_t{1}, size_t{64}, size_t{100}, kHugePage - 1}) {
    CHECK(IsAligned(MemoryBlock(bytes).data(), 64));
  }
  CHECK(IsAligned(MemoryBlock(kHugePage).data(), kHugePage));
  CHECK(IsAligned(MemoryBlock(kHugePage + 1).data(), kHugePage));
  CHECK(MemoryBlock(0).data() == nullptr);
}

TEST_CASE("MemoryBlock moves its memory and leaves an empty block") {
  MemoryBlock block(100);
  const char* data = block.data();
  MemoryBlock moved(std::move(block));
  CHECK(moved.data() == data);
  CHECK(moved.bytes() == 100);
  CHECK(block.data() == nullptr);
  CHECK(block.bytes() == 0);
  MemoryBlock assigned;
  assigned = std::move(moved);
  CHECK(assigned.data() == data);
  CHECK(moved.data() == nullptr);
}

TEST_CASE("Arena begins every part at a cache line, and measures its parts") {
  const auto carve = [](Arena* arena) {
    char* bytes = arena->Take<char>(1);
    double* none = arena->Take<double>(0);
    double* numbers = arena->Take<double>(9);
    return std::tuple(bytes, none, numbers);
  };
  Arena measure(nullptr);
  CHECK(carve(&measure) == std::tuple<char*, double*, double*>(nullptr, nullptr, nullptr));
  CHECK(measure.used() == 64 + 128);
  MemoryBlock block(measure.used());
  Arena arena(block.data());
  const auto [bytes, none, numbers] = carve(&arena);
  CHECK(bytes == block.data());
  CHECK(static_cast<void*>(none) == block.data() + 64);
  CHECK(static_cast<void*>(numbers) == block.data() + 64);
  CHECK(arena.used() == block.bytes());
}

TEST_CASE("BlockCache serves a kept block to a request of exactly its size") {
  BlockCache cache;
  MemoryBlock block = cache.Take(1000);
  const char* data = block.data();
  cache.GiveBack(std::move(block));
  CHECK(cache.Take(999).data() != data);
  MemoryBlock again = cache.Take(1000);
  CHECK(again.data() == data);
  // The block is in use, so another of its size is a new one.
  CHECK(cache.Take(1000).data() != data);
}

TEST_CASE("BlockCache::TakeFor carves one block twice, to measure and to place") {
  BlockCache cache;
  int calls = 0;
  float* values = nullptr;
  const MemoryBlock block = cache.TakeFor([&](Arena* arena) {
    calls++;
    values = arena->Take<float>(17);
  });
  CHECK(calls == 2);
  CHECK(static_cast<void*>(values) == block.data());
  CHECK(block.bytes() == 128);
}

// Whether the cache serves `size` with the block at `data`. A block that the cache has freed does not pass by chance:
// others of its size take its address before.
bool Holds(BlockCache* cache, size_t size, const char* data) {
  std::vector<MemoryBlock> occupants;
  for (int k = 0; k < 16; k++) occupants.emplace_back(size);
  return cache->Take(size).data() == data;
}

TEST_CASE("BlockCache keeps blocks up to its bytes, and no empty ones") {
  BlockCache cache(1000);
  MemoryBlock fits(1000);
  const char* const data = fits.data();
  cache.GiveBack(std::move(fits));
  cache.GiveBack(MemoryBlock());
  CHECK(Holds(&cache, 1000, data));
  MemoryBlock exceeds(1001);
  const char* const larger = exceeds.data();
  cache.GiveBack(std::move(exceeds));
  CHECK_FALSE(Holds(&cache, 1001, larger));
}

TEST_CASE("BlockCache frees the oldest block first, also after one was taken") {
  constexpr size_t kSizes[] = {1000, 2000, 3000, 4000};
  BlockCache cache(10000);
  std::vector<MemoryBlock> blocks;
  std::vector<const char*> places;
  for (const size_t size : kSizes) places.push_back(blocks.emplace_back(size).data());
  for (MemoryBlock& block : blocks) cache.GiveBack(std::move(block));
  // 2000, 3000 and 4000 stay, in this order. Another 2000 bytes exceed the limit by 1000, so the 2000 go.
  const MemoryBlock taken = cache.Take(1000);
  CHECK(taken.data() == places[0]);
  cache.GiveBack(MemoryBlock(2001));
  CHECK_FALSE(Holds(&cache, 2000, places[1]));
  CHECK(Holds(&cache, 3000, places[2]));
  CHECK(Holds(&cache, 4000, places[3]));
}

void CheckKeepsAtMost(size_t kept, BlockCache* cache) {
  CAPTURE(kept);
  std::vector<MemoryBlock> blocks;
  std::vector<const char*> places;
  for (size_t k = 0; k <= kept; k++) places.push_back(blocks.emplace_back(1000 + 64 * k).data());
  for (MemoryBlock& block : blocks) cache->GiveBack(std::move(block));
  CHECK_FALSE(Holds(cache, 1000, places[0]));
  for (size_t k = 1; k <= kept; k++) CHECK(Holds(cache, 1000 + 64 * k, places[k]));
}

TEST_CASE("BlockCache keeps eight blocks, or as many as it is given") {
  BlockCache few;
  CheckKeepsAtMost(8, &few);
  BlockCache many(BlockCache::kUnlimited, 20);
  CheckKeepsAtMost(20, &many);
}

}  // namespace
}  // namespace cudnn_rnn
