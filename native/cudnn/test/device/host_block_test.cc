#include "device/host_block.h"

#include <doctest/doctest.h>

#include <cstring>
#include <set>
#include <thread>

#include "host_device.h"

namespace cudnn_rnn {
namespace {

TEST_CASE("HostBlockPool rounds page-locked blocks up to powers of two, from a page on") {
  const struct {
    std::size_t bytes;
    std::size_t capacity;
  } cases[] = {{0, 4096},           {1, 4096},      {4095, 4096},     {4096, 4096}, {4097, 8192},
               {12288, 16384},      {16384, 16384}, {kMiB - 1, kMiB}, {kMiB, kMiB}, {kMiB + 1, 2 * kMiB},
               {3 * kMiB, 4 * kMiB}};
  HostDevice device;
  HostBlockPool pool(device.libraries);
  for (const auto& [bytes, capacity] : cases) {
    const HostBlockRef block = pool.Take(bytes);
    CHECK(block->pinned);
    CHECK(block->capacity == capacity);
    std::memset(block->data, 1, capacity);
  }
}

TEST_CASE("HostBlockPool reuses a block in its size class only") {
  HostDevice device;
  HostBlockPool pool(device.libraries);
  void* small = pool.Take(5000)->data;
  CHECK(device.count("cudaMallocHost") == 1);
  // The same class.
  CHECK(pool.Take(8192)->data == small);
  CHECK(pool.TakeWithoutCuda(4097)->data == small);
  CHECK(device.count("cudaMallocHost") == 1);
  // Others, which the block would fit.
  CHECK(pool.Take(4096)->data != small);
  CHECK(!pool.TakeWithoutCuda(100000)->pinned);
  CHECK(device.count("cudaMallocHost") == 2);
}

TEST_CASE("HostBlockPool gives no block to two owners at once") {
  HostDevice device;
  HostBlockPool pool(device.libraries);
  std::set<void*> addresses;
  {
    std::vector<HostBlockRef> blocks;
    for (int k = 0; k < 5; k++) blocks.push_back(pool.Take(100));
    // A second reference keeps a block taken.
    const HostBlockRef shared = blocks[2];
    blocks.erase(blocks.begin() + 2);
    for (int k = 0; k < 3; k++) blocks.push_back(pool.Take(100));
    for (const HostBlockRef& block : blocks) addresses.insert(block->data);
    addresses.insert(shared->data);
    CHECK(addresses.size() == 8);
  }
  for (int k = 0; k < 8; k++) pool.Take(100);
  CHECK(device.count("cudaMallocHost") == 8);
}

TEST_CASE("HostBlockPool falls back to pageable memory of the exact size, and clears the failure") {
  HostDevice device;
  device.Fail("cudaMallocHost", 2);
  HostBlockPool pool(device.libraries);
  {
    const HostBlockRef block = pool.Take(5000);
    CHECK(!block->pinned);
    CHECK(block->capacity == 5000);
    std::memset(block->data, 1, 5000);
    CHECK(device.count("cudaGetLastError") == 1);
    CHECK(pool.Take(0)->data != nullptr);
  }
  // Pageable blocks are not kept.
  device.Recover();
  CHECK(pool.Take(5000)->pinned);
  CHECK(device.live()["pinned"] == 1);
}

TEST_CASE("HostBlockPool::TakeWithoutCuda makes no call of CUDA, and neither does the end of a block") {
  HostDevice device;
  HostBlockPool pool(device.libraries);
  pool.Take(100);
  device.Forget();
  {
    const HostBlockRef kept = pool.TakeWithoutCuda(100);
  }
  {
    const HostBlockRef fresh = pool.TakeWithoutCuda(100000);
  }
  {
    const HostBlockRef empty = pool.TakeWithoutCuda(0);
  }
  CHECK(device.names().empty());
}

TEST_CASE("HostBlockPool keeps 256 MiB and frees the surplus on the next thread that may call CUDA") {
  HostDevice device;
  HostBlockPool pool(device.libraries);
  {
    std::vector<HostBlockRef> blocks;
    for (int k = 0; k < 6; k++) blocks.push_back(pool.Take(64 * kMiB));
  }
  // The last two are above the limit; nothing was freed where the references ended.
  CHECK(device.live()["pinned"] == 6);
  CHECK(device.count("cudaFreeHost") == 0);
  pool.Take(64 * kMiB);
  CHECK(device.live()["pinned"] == 4);
  CHECK(device.count("cudaMallocHost") == 6);
  pool.Clear();
  CHECK(device.live()["pinned"] == 0);
  // An empty pool keeps blocks again.
  pool.Take(64 * kMiB);
  CHECK(device.live()["pinned"] == 1);
}

TEST_CASE("HostBlockPool frees all that it keeps at its end") {
  HostDevice device;
  {
    HostBlockPool pool(device.libraries);
    pool.Take(100);
    pool.Take(100000);
    CHECK(device.live()["pinned"] == 2);
  }
  CHECK(device.live()["pinned"] == 0);
}

TEST_CASE("HostBlockPool serves several threads") {
  HostDevice device;
  HostBlockPool pool(device.libraries);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int thread = 0; thread < 4; thread++) {
    threads.emplace_back([&, thread] {
      for (int k = 0; k < 200; k++) {
        const HostBlockRef block = thread % 2 == 0 ? pool.Take(100) : pool.TakeWithoutCuda(100);
        std::memset(block->data, thread, 100);
        std::this_thread::yield();
        for (int byte = 0; byte < 100; byte++) wrong[thread] += static_cast<char*>(block->data)[byte] != thread;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int each : wrong) CHECK(each == 0);
}

}  // namespace
}  // namespace cudnn_rnn
