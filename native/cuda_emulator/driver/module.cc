#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "core/device.h"
#include "core/live_objects.h"
#include "core/schedule.h"
#include "core/settings.h"
#include "driver/block.h"
#include "driver/result.h"

using namespace emulator;

namespace {

constexpr std::size_t kStaticSharedLimit = 48 << 10;
constexpr int kMaxDynamicSharedAttribute = 8;

// A loaded kernel library. Launches hold on to it, so that unloading waits for them.
struct Module {
  explicit Module(void* library) : library(library) {}
  ~Module() { dlclose(library); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  void* const library;
  int device = 0;
  std::map<std::string, CUfunction> functions;
};

struct Function {
  std::string name;
  std::shared_ptr<Module> module;
  const emulator_kernel::Kernel* kernel = nullptr;
  emulator_kernel::ThreadState* (*state)() = nullptr;
  std::size_t shared_limit = kStaticSharedLimit;
};

struct LoadedTables {
  LiveObjects<CUmodule, Module> modules{"driver modules"};
  LiveObjects<CUfunction, Function> functions{"driver functions"};
};
LoadedTables& Loaded() {
  static auto* tables = new LoadedTables;  // never destroyed
  return *tables;
}

// An image contains its size: a shared library ends with its table of sections.
std::size_t ImageBytes(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  return header.e_shoff + static_cast<std::size_t>(header.e_shnum) * header.e_shentsize;
}

void* OpenImage(const void* image, std::size_t bytes) {
  // A name never used before: the loader takes a library of the same name for the same library.
  char path[] = "/tmp/cuda_emulator_kernels_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) return nullptr;
  void* library = nullptr;
  if (write(file, image, bytes) == static_cast<ssize_t>(bytes)) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  close(file);
  return library;
}

struct KernelLaunch {
  std::shared_ptr<Function> function;
  emulator_kernel::Dim3 grid, block;
  std::size_t shared_bytes;
  bool is_cooperative;
  std::vector<std::vector<char>> values;  // of the parameters, as they were at the call
};

const void* PointerIn(const std::vector<char>& value) {
  const void* pointer = nullptr;
  std::memcpy(&pointer, value.data(), sizeof pointer);
  return pointer;
}

void RunKernel(int device, const KernelLaunch& launch) {
  const emulator_kernel::Kernel& kernel = *launch.function->kernel;
  std::vector<std::vector<char>> values = launch.values;
  std::vector<void*> places;
  for (int i = 0; i < kernel.parameter_count; ++i) {
    std::vector<char>& value = values[static_cast<std::size_t>(i)];
    if (kernel.kinds[i] != emulator_kernel::kValue && PointerIn(value) != nullptr) {
      const std::string what = "parameter " + std::to_string(i);
      void* const resolved = Resolve(device, PointerIn(value), 0, what.c_str());
      std::memcpy(value.data(), &resolved, sizeof resolved);
    }
    places.push_back(value.data());
  }
  emulator_kernel::ThreadState& state = *launch.function->state();
  state.grid_size = launch.grid;
  state.block_size = launch.block;
  if (launch.is_cooperative || kernel.cluster.x > 0) return RunGrid(kernel, places.data(), state, launch.shared_bytes);
  std::vector<char> shared(launch.shared_bytes + 64);
  state.dynamic_shared = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(shared.data()) + 63) / 64 * 64);
  for (unsigned z = 0; z < launch.grid.z; ++z) {
    for (unsigned y = 0; y < launch.grid.y; ++y) {
      for (unsigned x = 0; x < launch.grid.x; ++x) {
        state.block = {x, y, z};
        std::fill(shared.begin(), shared.end(), static_cast<char>(0xA7));  // nothing is left from another block
        RunBlock(kernel, places.data(), state);
      }
    }
  }
}

constexpr std::size_t kSharedOfMultiprocessor = 227 << 10;

int BlocksPerMultiprocessor(unsigned threads, std::size_t shared_bytes) {
  const std::size_t by_memory = shared_bytes == 0 ? 32 : kSharedOfMultiprocessor / shared_bytes;
  return static_cast<int>(std::min<std::size_t>(2048 / threads, by_memory));
}

/// Clusters that run at once: of up to 8 blocks along x, on devices that have them.
int ClustersAtOnce(const emulator_kernel::Dim3& cluster, unsigned threads, std::size_t shared_bytes) {
  const auto settings = CurrentSettings();
  if (settings->capability < 900 || cluster.x == 0 || cluster.x > 8 || cluster.y * cluster.z != 1) return 0;
  return settings->multiprocessors * BlocksPerMultiprocessor(threads, shared_bytes) / static_cast<int>(cluster.x);
}

CUresult Launch(CUfunction handle, emulator_kernel::Dim3 grid, emulator_kernel::Dim3 block, std::size_t shared_bytes,
                CUstream stream_handle, void** parameters, bool is_cooperative) {
  const auto function = Loaded().functions.Find(handle);
  const auto stream = FindStream(stream_handle);
  if (function == nullptr || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->device != CurrentDevice() || function->module->device != CurrentDevice()) {
    ReportViolation(function->name + ": the kernel, the stream and the calling thread are on different devices");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const bool sizes = grid.x > 0 && grid.y > 0 && grid.z > 0 && block.x > 0 && block.y > 0 && block.z > 0 &&
                     grid.x <= 0x7fffffffu && grid.y <= 65535 && grid.z <= 65535 && block.x <= 1024 && block.y <= 1024 &&
                     block.z <= 64 && static_cast<std::size_t>(block.x) * block.y * block.z <= 1024;
  const bool shared = shared_bytes <= function->shared_limit;
  const emulator_kernel::Kernel& kernel = *function->kernel;
  if (!sizes || !shared || (parameters == nullptr && kernel.parameter_count > 0)) return CUDA_ERROR_INVALID_VALUE;
  const unsigned threads = block.x * block.y * block.z;
  if (const auto& cluster = kernel.cluster;
      cluster.x > 0 && (grid.x % cluster.x != 0 || ClustersAtOnce(cluster, threads, shared_bytes) == 0)) {
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  const auto resident = static_cast<std::size_t>(BlocksPerMultiprocessor(threads, shared_bytes)) *
                        static_cast<std::size_t>(CurrentSettings()->multiprocessors);
  if (is_cooperative && static_cast<std::size_t>(grid.x) * grid.y * grid.z > resident) {
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }

  auto launch = std::make_shared<KernelLaunch>(KernelLaunch{function, grid, block, shared_bytes, is_cooperative, {}});
  Operation operation{.name = function->name};
  for (int i = 0; i < kernel.parameter_count; ++i) {
    const char* value = static_cast<const char*>(parameters[i]);
    launch->values.emplace_back(value, value + kernel.sizes[i]);
    if (kernel.kinds[i] == emulator_kernel::kValue) continue;
    // The extent of a kernel's accesses is unknown, so order is checked for the start of each pointer's range.
    const void* const pointer = PointerIn(launch->values.back());
    if (pointer != nullptr) operation.accesses.push_back({pointer, 1, kernel.kinds[i] == emulator_kernel::kWritePointer});
  }
  operation.run = [launch](int device) { RunKernel(device, *launch); };
  return Enqueue(stream, std::move(operation));
}

}  // namespace

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  EMULATOR_ENTER(kDriver);
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t bytes = ImageBytes(image);
  void* const library = bytes == 0 ? nullptr : OpenImage(image, bytes);
  if (library == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  auto made = std::make_shared<Module>(library);
  const auto* architecture = static_cast<const int*>(dlsym(library, "emulator_architecture"));
  if (architecture == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  const int capability = CurrentSettings()->capability;
  // A cubin runs on its own major architecture from its own minor on; PTX on everything from its architecture on.
  const bool fits = dlsym(library, "emulator_is_ptx") != nullptr || *architecture / 100 == capability / 100;
  if (!fits || *architecture > capability) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  made->device = CurrentDevice();
  *module = Loaded().modules.Add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, int*, void**) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleUnload(CUmodule handle) {
  EMULATOR_ENTER(kDriverAlways);
  const auto module = Loaded().modules.Remove(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& [name, function] : module->functions) Loaded().functions.Remove(function);
  module->functions.clear();
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  EMULATOR_ENTER(kDriver);
  const auto module = Loaded().modules.Find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const auto found = module->functions.find(name); found != module->functions.end()) {
    *function = found->second;
    return CUDA_SUCCESS;
  }
  auto made = std::make_shared<Function>();
  made->name = name;
  made->module = module;
  made->kernel =
      static_cast<const emulator_kernel::Kernel*>(dlsym(module->library, ("emulator_kernel_" + std::string(name)).c_str()));
  made->state = reinterpret_cast<decltype(made->state)>(dlsym(module->library, "emulator_thread_state"));
  if (made->kernel == nullptr || made->state == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = module->functions[name] = Loaded().functions.Add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction handle, int attribute, int value) {
  EMULATOR_ENTER(kDriver);
  const auto function = Loaded().functions.Find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != kMaxDynamicSharedAttribute || value < 0 || value > int{kSharedOfMultiprocessor}) return CUDA_ERROR_INVALID_VALUE;
  function->shared_limit = static_cast<std::size_t>(value);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction handle) {
  EMULATOR_ENTER(kDriver);
  enum { kMaxThreadsPerBlock = 0, kRegisters = 4 };
  if (Loaded().functions.Find(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != kMaxThreadsPerBlock && attribute != kRegisters) return CUDA_ERROR_INVALID_VALUE;
  *value = attribute == kMaxThreadsPerBlock ? 1024 : 32;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads, size_t sharedBytes) {
  EMULATOR_ENTER(kDriver);
  if (Loaded().functions.Find(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (threads < 1 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  *blocks = BlocksPerMultiprocessor(static_cast<unsigned>(threads), sharedBytes);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  EMULATOR_ENTER(kDriver);
  const auto function = Loaded().functions.Find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const unsigned threads = config->blockDimX * config->blockDimY * config->blockDimZ;
  // Only the kernel's own dimensions of a cluster.
  if (threads < 1 || threads > 1024 || config->numAttrs != 0) return CUDA_ERROR_INVALID_VALUE;
  *clusters = ClustersAtOnce(function->kernel->cluster, threads, config->sharedMemBytes);
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream streamHandle,
                        void** parameters, void** extra) {
  EMULATOR_ENTER(kDriver);
  if (extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Launch(handle, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, streamHandle, parameters, false);
}

CUresult cuLaunchCooperativeKernel(CUfunction handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                   unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream streamHandle,
                                   void** parameters) {
  EMULATOR_ENTER(kDriver);
  return Launch(handle, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, streamHandle, parameters, true);
}
