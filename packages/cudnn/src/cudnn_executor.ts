import type { Algorithm } from './cudnn_enums.js'
import type { DeviceKernels } from './device_kernels.js'
import type { DeviceMemory } from './device_memory.js'
import type { DeviceSession } from './device_session.js'
import type { Arithmetic } from './precision.js'
import type { Workspace } from './workspace.js'

/** What the parts of one open cuDNN executor share. */
export interface CudnnExecutor {
  readonly session: DeviceSession
  readonly memory: DeviceMemory
  readonly kernels: DeviceKernels
  readonly arithmetic: Arithmetic
  readonly workspace: Workspace
  /** The algorithm to use, or `measured` for the fastest of the legal ones. */
  readonly algorithm: Algorithm | 'measured'
  /** Whether passes and steps that come again are replayed as CUDA graphs: where that proves faster, or regardless. */
  readonly graphs: 'measured' | 'always' | 'never'
  /** Whether passes with dropout may be replayed; undefined until the first network that has some was tried. */
  replaysDropout?: boolean | undefined
  /** Whether passes over rows of unequal length may be replayed; undefined until it was tried. */
  replaysLengths?: boolean | undefined
}
