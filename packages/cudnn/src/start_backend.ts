import type { FloatDType } from '@cudnn-rnn/ops'
import { CudnnBackend } from './cudnn_backend.js'
import type { KernelChoice } from './device/cudnn_executor.js'
import { loadKernels } from './device/device_kernels.js'
import { DeviceMemory } from './device/device_memory.js'
import { DeviceSession } from './device/device_session.js'
import type { GraphPolicy } from './device/graph_cache.js'
import { KernelCache } from './device/kernel_cache.js'
import type { Arithmetic } from './device/precision.js'
import type { Algorithm } from './sys/cudnn_enums.js'
import type { Libraries, NativeAddon } from './sys/native_addon.js'

/** Options of an executor, checked. */
export interface StartOptions {
  readonly device: number
  readonly dtype: FloatDType
  readonly arithmetic: Arithmetic
  readonly algorithm: Algorithm | 'measured'
  readonly graphs: GraphPolicy
  readonly kernels: KernelChoice
  readonly cacheDir: string | undefined
  readonly libraryDir: string | undefined
}

/** Opens the device and compiles the kernels. A failure leaves nothing open. */
export async function startBackend(
  addon: NativeAddon,
  libraries: Libraries,
  { device, dtype, arithmetic, algorithm, graphs, kernels, cacheDir, libraryDir }: StartOptions,
): Promise<CudnnBackend> {
  const session = await DeviceSession.open(addon, libraries, device, { graphs, dtype })
  try {
    // Before anything else: an NVRTC that does not work should fail the opening, not a later call.
    const cache = new KernelCache(cacheDir)
    await loadKernels(session, dtype, cache)
    const memory = new DeviceMemory(session, dtype)
    return new CudnnBackend({ session, memory, arithmetic, algorithm, graphs, kernels, cache, libraryDir })
  } catch (error) {
    await session.close()
    throw error
  }
}
