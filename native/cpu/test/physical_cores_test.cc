#include "threads/physical_cores.h"

#include <doctest/doctest.h>

#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace cudnn_rnn {
namespace {

TEST_CASE("PhysicalCores is one at least, and no more than there are processors") {
  CHECK(PhysicalCores() >= 1);
  CHECK(PhysicalCores() <= static_cast<int>(std::thread::hardware_concurrency()));
}

#if defined(__linux__)
TEST_CASE("PhysicalCores counts the cores of the processors that the thread may run on") {
  cpu_set_t allowed;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  int first = 0;
  while (!CPU_ISSET(first, &allowed)) first++;
  int cores = 0;
  // A thread has its own affinity, which ends with it.
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) cores = PhysicalCores();
  }).join();
  CHECK(cores == 1);
}
#endif

}  // namespace
}  // namespace cudnn_rnn
