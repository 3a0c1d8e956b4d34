#pragma once

#include <cstddef>

#include "nvrtc/kernel_abi.h"

namespace emulator {

/// Runs one block of a kernel on the calling thread. `run` runs one device thread; `state` is the module's.
///
/// Device threads run one after the other. A thread that waits at a barrier is suspended with its stack and the next
/// one starts; when all participants have arrived, they resume in order. A kernel without barriers needs no switch. A
/// deadlock among the threads ends the kernel with DeviceFault.
void RunBlock(const emulator_kernel::Kernel& kernel, void** values, emulator_kernel::ThreadState& state);

/// Runs all blocks of a cooperative launch, or of a kernel with clusters, at the same time, each with `shared_bytes` of shared memory.
///
/// Threads of all blocks take turns in an order drawn from the setting `interleaving`; blocks are held up at random. The
/// words that a thread stores for other blocks arrive at a later time, in no order: a GPU promises nothing else. Words for
/// the shared memory of a cluster's blocks have arrived behind the barrier of the cluster. With the setting `missing_block`
/// the last block, or the last cluster, runs only after all others have ended, as one for which there was no room.
void RunGrid(const emulator_kernel::Kernel& kernel, void** values, emulator_kernel::ThreadState& state,
             std::size_t shared_bytes);

}  // namespace emulator
