#include "threads/physical_cores.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <thread>
#include <utility>

#if defined(__linux__)
#include <sched.h>
#endif

namespace cudnn_rnn {
namespace {

#if defined(__linux__)
// C streams, not iostreams: the static libstdc++ would bind the latter to a newer glibc.
void ReadNumber(const std::string& file, int* number) {
  std::FILE* stream = std::fopen(file.c_str(), "r");
  if (stream == nullptr) return;
  if (std::fscanf(stream, "%d", number) != 1) *number = -1;
  std::fclose(stream);
}
#endif

int LogicalCores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

}  // namespace

// The default number of threads. Two hyperthreads share the multiply-add units and the first-level and second-level
// caches of a core (Agner Fog, The microarchitecture of Intel, AMD and VIA CPUs, https://www.agner.org/optimize/), so a
// second thread per core adds no arithmetic to these kernels and halves the cache of the first.
int PhysicalCores() {
#if defined(__linux__)
  // Threads of one core have the same pair of package and core number:
  // https://docs.kernel.org/admin-guide/cputopology.html
  // The affinity of the process: containers and taskset may allow a part of the machine only.
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return LogicalCores();
  std::set<std::pair<int, int>> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    int package = -1, core = -1;
    ReadNumber(folder + "physical_package_id", &package);
    ReadNumber(folder + "core_id", &core);
    // No topology in this container or virtual machine: every allowed processor counts.
    if (core < 0) return std::max(1, CPU_COUNT(&allowed));
    cores.insert({package, core});
  }
  return std::max(1, static_cast<int>(cores.size()));
#else
  return LogicalCores();
#endif
}

}  // namespace cudnn_rnn
