#include "core/cudnn_objects.h"
#include "core/memory.h"
#include "cudnn/dropout_states.h"
#include "cudnn/status.h"

using namespace emulator;

namespace {

void Bind(DropoutDescriptor& dropout, float rate, void* states, size_t bytes, unsigned long long seed) {
  Require(states == nullptr || bytes >= DropoutStates::kBytes, "stateSizeInBytes", kBadParam);
  dropout = {rate, states, bytes, seed};
}

}  // namespace

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* descriptor) {
  EMULATOR_ENTER(kCudnnHost);
  if (descriptor == nullptr) return kBadParam;
  *descriptor = TheCudnnTables().dropouts.Add(std::make_shared<DropoutDescriptor>());
  return kSuccess;
}

cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t descriptor) {
  EMULATOR_ENTER(kCudnnHost);
  if (descriptor == nullptr) return kSuccess;
  return TheCudnnTables().dropouts.Remove(descriptor) == nullptr ? kBadParam : kSuccess;
}

cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* bytes) {
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    const HandleInUse used(handle);
    Require(bytes != nullptr, "!sizeInBytes");
    *bytes = DropoutStates::kBytes;
  });
}

cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float rate,
                                        void* states, size_t bytes, unsigned long long seed) {
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    const HandleInUse used(handle);
    const auto dropout = Live(TheCudnnTables().dropouts, descriptor, "dropoutDesc");
    // The real library accepts any rate and fails later, or not at all.
    if (!(rate >= 0 && rate < 1)) ReportViolation("dropout rate outside [0, 1)");
    Bind(*dropout, rate, states, bytes, seed);
    if (states == nullptr) return;
    const auto stream = used.LiveStream();
    Require(CaptureStatus(stream) == 0, "cudnnSetDropoutDescriptor during a stream capture", kExecutionFailedCudart);
    const auto initialize = [states, seed](int device) {
      *ResolveArray(device, static_cast<DropoutStates*>(states), 1, "states") = {DropoutStates::kMagic, seed, 0};
    };
    Enqueue(stream, {.name = __func__, .accesses = {{states, bytes, true}}, .run = initialize});
  });
}

cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float rate,
                                            void* states, size_t bytes, unsigned long long seed) {
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    const HandleInUse used(handle);
    Require(states != nullptr, "!states");
    Bind(*Live(TheCudnnTables().dropouts, descriptor, "dropoutDesc"), rate, states, bytes, seed);
  });
}

cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float* rate,
                                        void** states, unsigned long long* seed) {
  EMULATOR_ENTER(kCudnn);
  return Guarded([&] {
    const HandleInUse used(handle);
    const auto dropout = Live(TheCudnnTables().dropouts, descriptor, "dropoutDesc");
    *rate = dropout->rate;
    *states = dropout->states;
    *seed = dropout->seed;
  });
}
