#include "nvrtc/host_compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/stream.h"

namespace emulator {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs a command with its messages in the file `log`; true when it ends well.
bool RunCommand(std::vector<std::string> words, const std::string& log) {
  // A compiler finds its assembler and linker by PATH, which a test may have emptied.
  const char* path = std::getenv("PATH");
  std::string search = "PATH=/usr/bin:/bin:" + std::string(path == nullptr ? "" : path);
  std::string folder = "TMPDIR=" + log.substr(0, log.rfind('/'));
  char* environment[] = {search.data(), folder.data(), nullptr};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return false;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// A folder of the build: kernels stay compiled from one test run to the next.
std::string CacheFolder() {
  std::string folder = EMULATOR_KERNEL_CACHE;
  mkdir(folder.c_str(), 0700);
  return folder;
}

}  // namespace

Compilation CompileOnHost(const std::string& source, const std::vector<std::string>& options) {
  const char* chosen = std::getenv("CXX");
  std::vector<std::string> command = {chosen == nullptr ? EMULATOR_CXX : chosen,
                                      "-x",
                                      "c++",
                                      "-std=c++17",
                                      "-O1",
                                      "-fPIC",
                                      "-shared",
                                      "-nostdinc",
                                      "-nostdinc++",
                                      "-fvisibility=hidden",
                                      "-w"};
  command.insert(command.end(), options.begin(), options.end());
  std::string everything = source;
  for (const std::string& word : command) everything += '\0' + word;
  const std::string base = CacheFolder() + "/" + std::to_string(Checksum(everything.data(), everything.size()));
  Compilation result;
  if (access((base + ".so").c_str(), R_OK) == 0) {
    result.library = ReadFile(base + ".so");
    result.succeeded = true;
    return result;
  }
  const std::string mine =
      base + "." + std::to_string(getpid()) + "." + std::to_string(reinterpret_cast<std::uintptr_t>(&result));
  std::ofstream(mine + ".cc") << source;
  command.insert(command.end(), {"-o", mine + ".so", mine + ".cc", "-x", "none", "-lm"});
  result.succeeded = RunCommand(command, mine + ".log");
  result.log = ReadFile(mine + ".log");
  if (result.succeeded) {
    result.library = ReadFile(mine + ".so");
    // rename() is atomic: another process that compiles the same source sees the whole file or none.
    std::rename((mine + ".so").c_str(), (base + ".so").c_str());
  }
  unlink((mine + ".cc").c_str());
  unlink((mine + ".log").c_str());
  return result;
}

}  // namespace emulator
