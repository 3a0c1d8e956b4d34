#include <string>
#include <utility>

#include "commands.h"

namespace cudnn_rnn {

// CUresult cuModuleLoadData(CUmodule* module, const void* image)
// CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name)
void LoadModule(const Libraries& libraries, const Source& image, const std::vector<KernelShape>& kernels,
                KernelModule& module) {
  // A PTX image is read up to its terminating zero.
  std::vector<char> bytes(static_cast<const char*>(image.block->data),
                          static_cast<const char*>(image.block->data) + image.bytes);
  bytes.push_back(0);
  CALL_DRIVER(libraries, cuModuleLoadData, &module.module, bytes.data());
  for (const KernelShape& kernel : kernels) {
    CUfunction function = nullptr;
    CALL_DRIVER(libraries, cuModuleGetFunction, &function, module.module, kernel.name);
    module.functions.push_back(function);
  }
}

/// Loads the kernels of kernels/. A failed load leaves the kernels as they were.
void LoadKernels::Run(Worker& worker, Batch&) const {
  KernelModule loaded(worker.libraries);
  LoadModule(worker.libraries, image, Kernels(), loaded);
  worker.module = std::exchange(loaded.module, nullptr);
  worker.kernels = std::move(loaded.functions);
  worker.has_double_scalars = is_double != 0;
}

/// The parameters are in the order of the kernel's prototype; scripts/build/generate_commands.mjs compares both.
KernelParameters KernelParametersOf(CommandReader& reader, const KernelShape& kernel) {
  KernelParameters values;
  std::size_t scalars = 0;
  for (const KernelParameter parameter : kernel.parameters) {
    KernelValue value{};
    switch (parameter) {
      case KernelParameter::kIn:
        value.pointer = AddressOf(reader.In());
        break;
      case KernelParameter::kOptionalIn:
        value.pointer = AddressOf(reader.OptionalIn());
        break;
      case KernelParameter::kOut:
        value.pointer = AddressOf(reader.Out());
        break;
      case KernelParameter::kOptionalOut:
        value.pointer = AddressOf(reader.OptionalOut());
        break;
      case KernelParameter::kInOut:
        value.pointer = AddressOf(reader.InOut());
        break;
      case KernelParameter::kCount:
        value.count = static_cast<long long>(reader.Double());
        break;
      case KernelParameter::kScalar:
        scalars++;
        if (reader.has_double_scalars()) {
          value.real = reader.Scalar();
        } else {
          value.single = static_cast<float>(reader.Scalar());
        }
    }
    values.push_back(value);
  }
  // The last parameter, `live`: null outside a capture, when the kernel reads its parameters instead.
  if (scalars > 0) {
    KernelValue live{};
    live.pointer = reader.LiveScalars(scalars);
    values.push_back(live);
  }
  return values;
}

/// CUresult cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, params, extra).
/// The driver copies the parameters during the call, so they may live on this stack. Errors inside the kernel appear in
/// a later call.
void LaunchKernel::Run(Worker& worker, Batch&) const {
  std::vector<void*> addresses;
  // One address for each parameter; the driver takes its size from the module.
  for (const KernelValue& value : parameters) addresses.push_back(const_cast<KernelValue*>(&value));
  const auto index = static_cast<std::size_t>(kernel);
  CheckDriver(worker.libraries,
              worker.libraries.driver.cuLaunchKernel(worker.kernels.at(index), static_cast<unsigned>(blocks), 1, 1,
                                                     static_cast<unsigned>(threads), 1, 1, 0, worker.stream,
                                                     addresses.data(), nullptr),
              (std::string("cuLaunchKernel of ") + Kernels()[index].name).c_str());
}

}  // namespace cudnn_rnn
