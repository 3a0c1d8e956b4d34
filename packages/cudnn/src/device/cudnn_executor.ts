import type { Algorithm } from '../sys/cudnn_enums.js'
import type { DeviceMemory } from './device_memory.js'
import type { DeviceSession } from './device_session.js'
import type { GraphPolicy } from './graph_cache.js'
import type { KernelCache } from './kernel_cache.js'
import type { Arithmetic } from './precision.js'

/**
 * `cudnn`: cuDNN's; `own`: native/cudnn/kernels/persistent.cu for every pass that it can compute; `measured`: the same, if it
 * agrees with cuDNN and is faster.
 */
type KernelChoice = 'measured' | 'cudnn' | 'own'

/** The objects that all parts of one open cuDNN executor share. */
export interface CudnnExecutor {
  readonly session: DeviceSession
  readonly memory: DeviceMemory
  readonly arithmetic: Arithmetic
  /** The algorithm to use, or `measured` for the fastest of the legal ones. */
  readonly algorithm: Algorithm | 'measured'
  readonly graphs: GraphPolicy
  /** Whose kernels compute recurrent layers. */
  readonly kernels: KernelChoice
  readonly cache: KernelCache
  /** The folder of NVIDIA's libraries that the caller named. */
  readonly libraryDir?: string | undefined
  /** Whether passes with dropout may be replayed; undefined until the first network that has some was tried. */
  replaysDropout?: boolean | undefined
  /** Whether passes over rows of unequal length may be replayed; undefined until it was tried. */
  replaysLengths?: boolean | undefined
}
