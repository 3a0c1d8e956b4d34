#pragma once

#include "nvrtc/kernel_abi.h"

namespace emulator {

/// Runs one block of a kernel on the calling thread. `run` runs one device thread; `state` is the module's.
///
/// Device threads go one after the other until one waits at a barrier: it is put aside with its stack and the next one
/// starts, and when all that take part have come they go on in turn. A kernel without barriers costs no switch. Threads
/// that wait for each other in vain end the kernel with DeviceFault.
void RunBlock(const emulator_kernel::Kernel& kernel, void** values, emulator_kernel::ThreadState& state);

}  // namespace emulator
