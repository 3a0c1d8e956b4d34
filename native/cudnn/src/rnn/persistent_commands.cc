#include <string>

#include "commands.h"

namespace cudnn_rnn {

// CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value)
// CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads, size_t
// sharedBytes)
// CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config)
void LoadPersistent::Run(Worker& worker, Batch& batch) const {
  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: more than 48 KiB must be allowed.
  constexpr int kMaxDynamicShared = 8;
  const Libraries& libraries = worker.libraries;
  worker.OpenWatch();
  KernelModule& made = module.Make(libraries);
  LoadModule(libraries, image, made);
  const int shared_bytes[] = {forward_bytes, backward_bytes};
  const int cluster_blocks[] = {forward_cluster, backward_cluster};
  for (std::size_t pass = 0; pass < 2; pass++) {
    const CUfunction function = made.Function(pass, PersistentKernels()[pass].name);
    const int bytes_of_pass = shared_bytes[pass];
    CALL_DRIVER(libraries, cuFuncSetAttribute, function, kMaxDynamicShared, bytes_of_pass);
    int count = 0;
    if (cluster_blocks[pass] > 0) {
      // The cluster size is an attribute of the kernel.
      CUlaunchConfig config{};
      config.gridDimX = static_cast<unsigned>(cluster_blocks[pass]);
      config.blockDimX = static_cast<unsigned>(threads);
      config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
      config.sharedMemBytes = static_cast<unsigned>(bytes_of_pass);
      CALL_DRIVER(libraries, cuOccupancyMaxActiveClusters, &count, function, &config);
    } else {
      CALL_DRIVER(libraries, cuOccupancyMaxActiveBlocksPerMultiprocessor, &count, function, threads,
                  static_cast<std::size_t>(bytes_of_pass));
    }
    batch.results.push_back(count);
  }
}

/// CUresult cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, params, extra)
/// CUresult cuLaunchCooperativeKernel(…, without extra): the driver refuses a grid whose blocks cannot all run at the
/// same time.
void LaunchPersistent::Run(Worker& worker, Batch&) const {
  worker.CheckWatch();
  // The last parameter, `stuck`.
  void* stuck = const_cast<unsigned*>(worker.watch.load());
  std::vector<void*> addresses;
  for (const KernelValue& value : parameters) addresses.push_back(const_cast<KernelValue*>(&value));
  addresses.push_back(&stuck);
  const auto number = static_cast<std::size_t>(kernel);
  const char* const name = PersistentKernels()[number].name;
  const auto& driver = worker.libraries.driver;
  const auto launch = [&](auto call, auto... extra) {
    return call(module.get()->Function(number, name), static_cast<unsigned>(blocks), static_cast<unsigned>(groups), 1u,
                static_cast<unsigned>(threads), 1u, 1u, static_cast<unsigned>(shared_bytes), worker.stream,
                addresses.data(), extra...);
  };
  const bool is_grid = is_cooperative != 0;
  const std::string call = is_grid ? "cuLaunchCooperativeKernel of " : "cuLaunchKernel of ";
  CheckDriver(worker.libraries,
              is_grid ? launch(driver.cuLaunchCooperativeKernel) : launch(driver.cuLaunchKernel, nullptr),
              (call + name).c_str());
}

void ClearWatch::Run(Worker& worker, Batch&) const {
  if (volatile unsigned* const word = worker.watch) *word = 0;
}

}  // namespace cudnn_rnn
