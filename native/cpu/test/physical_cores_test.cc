#include "threads/physical_cores.h"

#include <doctest/doctest.h>

#include <thread>
#include <utility>

#if defined(__linux__)
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
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

// Files of control groups, in a new folder.
class GroupFiles {
 public:
  GroupFiles() {
    std::string name = std::filesystem::temp_directory_path() / "groups_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~GroupFiles() { std::filesystem::remove_all(folder_); }
  GroupFiles(const GroupFiles&) = delete;
  GroupFiles& operator=(const GroupFiles&) = delete;

  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  int Quota() const { return QuotaCores(folder_ / "groups", folder_); }

 private:
  std::filesystem::path folder_;
};

TEST_CASE("QuotaCores is 0 without files, and in a group without a limit") {
  const GroupFiles files;
  CHECK(files.Quota() == 0);
  files.Write("groups", "0::/app\n");
  CHECK(files.Quota() == 0);
  files.Write("app/cpu.max", "max 100000\n");
  CHECK(files.Quota() == 0);
}

TEST_CASE("QuotaCores is the whole processors of a quota, and at least 1") {
  const GroupFiles files;
  files.Write("groups", "0::/app\n");
  const std::pair<const char*, int> quotas[] = {
      {"250000 100000\n", 2}, {"100000 50000", 2}, {"5000 100000\n", 1}, {"0 0\n", 0}, {"x", 0}};
  for (const auto& [text, cores] : quotas) {
    files.Write("app/cpu.max", text);
    CHECK(files.Quota() == cores);
  }
}

TEST_CASE("QuotaCores is the least of a group and of those above it") {
  const GroupFiles files;
  files.Write("groups", "0::/kubepods/pod/container\n");
  files.Write("kubepods/pod/container/cpu.max", "400000 100000\n");
  files.Write("kubepods/pod/cpu.max", "300000 100000\n");
  files.Write("kubepods/cpu.max", "max 100000\n");
  CHECK(files.Quota() == 3);
}

TEST_CASE("QuotaCores reads the group that a container sees as the root") {
  const GroupFiles files;
  files.Write("groups", "0::/\n");
  files.Write("cpu.max", "200000 100000\n");
  CHECK(files.Quota() == 2);
}

TEST_CASE("QuotaCores reads the quota of version 1, also if other controllers are in its hierarchy") {
  const GroupFiles files;
  files.Write("groups", "12:cpuset:/other\n4:cpu,cpuacct:/docker/1f\n3:cpuacct2:/x\n0::/\n");
  files.Write("cpu/cpu.cfs_quota_us", "600000\n");
  files.Write("cpu/cpu.cfs_period_us", "100000\n");
  CHECK(files.Quota() == 6);
  files.Write("cpu/docker/1f/cpu.cfs_quota_us", "-1\n");
  files.Write("cpu/docker/1f/cpu.cfs_period_us", "100000\n");
  CHECK(files.Quota() == 6);
}
#endif

}  // namespace
}  // namespace cudnn_rnn
