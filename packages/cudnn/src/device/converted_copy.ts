import type { DeviceBuffer } from './device_buffer.js'

/**
 * A copy of a tensor in the element type that cuDNN computes with. It is one allocation, rewritten in place when a pass
 * needs it and the tensor has changed, so CUDA graphs find it at a fixed address.
 *
 * The batch that rewrites it is separate, in the order of calls. If it fails, the buffer carries the error to the
 * passes that read it.
 */
export interface ConvertedCopy {
  /** Owned by the tensor. */
  readonly buffer: DeviceBuffer
  /** The version of the tensor that is in it. */
  version: number
  /** True once it is known to exist on the device: only then may it be written again. */
  isIssued: boolean
}
