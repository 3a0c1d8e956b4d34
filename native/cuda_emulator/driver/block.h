#pragma once

#include "nvrtc/kernel_abi.h"

namespace emulator {

/// Runs one block of a kernel on the calling thread. `run` runs one device thread; `state` is the module's.
///
/// Device threads run one after the other. A thread that waits at a barrier is suspended with its stack and the next
/// one starts; when all participants have arrived, they resume in order. A kernel without barriers needs no switch. A
/// deadlock among the threads ends the kernel with DeviceFault.
void RunBlock(const emulator_kernel::Kernel& kernel, void** values, emulator_kernel::ThreadState& state);

}  // namespace emulator
