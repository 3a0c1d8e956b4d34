#include "threads/physical_cores.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#if defined(__linux__)
#include <sched.h>
#endif

namespace cudnn_rnn {
namespace {

int LogicalCores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

#if defined(__linux__)
struct CloseStream {
  void operator()(std::FILE* stream) const { std::fclose(stream); }
};

// The text of a small file; empty if it cannot be read. C streams, not iostreams: the static libstdc++ would bind the
// latter to a newer glibc.
std::string TextOf(const std::string& file) {
  const std::unique_ptr<std::FILE, CloseStream> stream(std::fopen(file.c_str(), "r"));
  char bytes[4096];
  return stream == nullptr ? "" : std::string(bytes, std::fread(bytes, 1, sizeof bytes, stream.get()));
}

int NumberIn(const std::string& file) {
  int number = -1;
  return std::sscanf(TextOf(file).c_str(), "%d", &number) == 1 ? number : -1;
}

// The processors whose time one control group allows; 0 without a limit.
int GroupQuota(const std::string& folder) {
  // Version 2 has both in one file: microseconds or "max", and the period.
  std::string text = TextOf(folder + "/cpu.max");
  if (text.empty()) text = TextOf(folder + "/cpu.cfs_quota_us") + TextOf(folder + "/cpu.cfs_period_us");
  long long quota = 0, period = 0;
  if (std::sscanf(text.c_str(), "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0) return 0;
  // Rounded down: threads that wait for each other lose more by a pause of all than by the lack of one.
  return static_cast<int>(std::clamp(quota / period, 1LL, 1LL << 16));
}

// Physical cores of the processors that the thread may run on: containers and taskset may allow a part of the machine.
int AllowedCores() {
  // Threads of one core have the same pair of package and core number:
  // https://docs.kernel.org/admin-guide/cputopology.html
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return LogicalCores();
  std::set<std::pair<int, int>> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const int package = NumberIn(folder + "physical_package_id"), core = NumberIn(folder + "core_id");
    // No topology in this container or virtual machine: every allowed processor counts.
    if (core < 0) return std::max(1, CPU_COUNT(&allowed));
    cores.insert({package, core});
  }
  return std::max(1, static_cast<int>(cores.size()));
}
#endif

}  // namespace

// The default number of threads. Two hyperthreads share the multiply-add units and the first-level and second-level
// caches of a core (Agner Fog, The microarchitecture of Intel, AMD and VIA CPUs, https://www.agner.org/optimize/), so a
// second thread per core adds no arithmetic to these kernels and halves the cache of the first.
int PhysicalCores() {
#if defined(__linux__)
  const int quota = QuotaCores("/proc/self/cgroup", "/sys/fs/cgroup");
  return quota == 0 ? AllowedCores() : std::min(quota, AllowedCores());
#else
  return LogicalCores();
#endif
}

#if defined(__linux__)
int QuotaCores(const std::string& groups, const std::string& mounts) {
  const std::string lines = TextOf(groups);
  int least = 0;
  for (size_t at = 0, end = 0; at < lines.size(); at = end + 1) {
    end = std::min(lines.find('\n', at), lines.size());
    // "0::/path" of version 2, "4:cpu,cpuacct:/path" of version 1: https://man7.org/linux/man-pages/man7/cgroups.7.html
    const size_t names = lines.find(':', at) + 1, path = lines.find(':', names) + 1;
    if (names == 0 || path == 0 || path > end) continue;
    const std::string controllers = std::string(",").append(lines, names, path - 1 - names) + ",";
    const bool is_unified = controllers == ",,";
    if (!is_unified && controllers.find(",cpu,") == std::string::npos) continue;
    const std::string root = is_unified ? mounts : mounts + "/cpu";
    // The groups above limit this one too. A container may see its own group as the root, and the path of the host.
    std::string group = lines.substr(path, end - path);
    for (size_t length = group.size(); length != std::string::npos; length = group.rfind('/')) {
      group.resize(length);
      const int quota = GroupQuota(root + group);
      if (quota > 0) least = least == 0 ? quota : std::min(least, quota);
    }
  }
  return least;
}
#endif

}  // namespace cudnn_rnn
