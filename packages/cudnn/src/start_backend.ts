import type { FloatDType } from '@cudnn-rnn/ops'
import { CudnnBackend } from './cudnn_backend.js'
import type { CudnnExecutor } from './device/cudnn_executor.js'
import { loadKernels } from './device/device_kernels.js'
import { DeviceMemory } from './device/device_memory.js'
import { DeviceSession } from './device/device_session.js'
import { KernelCache } from './device/kernel_cache.js'
import type { Libraries, NativeAddon } from './sys/native_addon.js'

export interface StartOptions extends Omit<CudnnExecutor, 'session' | 'memory' | 'cache'> {
  readonly device: number
  readonly dtype: FloatDType
  readonly cacheDir: string | undefined
  /** The folder of kernels that were compiled for the release, if there is one. */
  readonly shippedKernels: string
}

/** Opens the device and loads or compiles the kernels. A failure leaves nothing open. */
export async function startBackend(
  addon: NativeAddon,
  libraries: Libraries,
  { device, dtype, cacheDir, shippedKernels, ...choices }: StartOptions,
): Promise<CudnnBackend> {
  const session = await DeviceSession.open(addon, libraries, device, { graphs: choices.graphs, dtype })
  try {
    // Before anything else: an NVRTC that does not work should fail the opening, not a later call.
    const cache = new KernelCache(cacheDir, shippedKernels)
    await loadKernels(session, dtype, cache)
    const memory = new DeviceMemory(session, dtype)
    return new CudnnBackend({ session, memory, cache, ...choices })
  } catch (error) {
    await session.close()
    throw error
  }
}
