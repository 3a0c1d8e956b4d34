#include <string>

#include "commands.h"

namespace cudnn_rnn {

// CUresult cuModuleLoadData(CUmodule* module, const void* image)
void LoadModule(const Libraries& libraries, const Source& image, KernelModule& module) {
  // A PTX image is read up to its terminating zero.
  std::vector<char> bytes(static_cast<const char*>(image.block->data),
                          static_cast<const char*>(image.block->data) + image.bytes);
  bytes.push_back(0);
  CALL_DRIVER(libraries, cuModuleLoadData, &module.module, bytes.data());
}

// CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name)
CUfunction KernelModule::Function(std::size_t number, const char* name) const {
  if (const auto known = functions_.find(number); known != functions_.end()) return known->second;
  CUfunction function = nullptr;
  CALL_DRIVER(libraries_, cuModuleGetFunction, &function, module, name);
  return functions_[number] = function;
}

/// Loads the kernels of kernels/, once in a session.
void LoadKernels::Run(Worker& worker, Batch&) const {
  LoadModule(worker.libraries, image, worker.kernels);
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
  const auto number = static_cast<std::size_t>(kernel);
  const char* const name = Kernels()[number].name;
  CheckDriver(worker.libraries,
              worker.libraries.driver.cuLaunchKernel(
                  worker.kernels.Function(number, name), static_cast<unsigned>(blocks), 1, 1,
                  static_cast<unsigned>(threads), 1, 1, 0, worker.stream, addresses.data(), nullptr),
              (std::string("cuLaunchKernel of ") + name).c_str());
}

}  // namespace cudnn_rnn
