import type { DeviceBuffer } from './device_buffer.js'

/**
 * A tensor's contents in the element type that cuDNN computes with, beside the tensor: one memory, rewritten where it is
 * when a pass wants it and the tensor has changed, so that graphs find it at one address.
 *
 * The batch that rewrites it stands alone, in the order of calls. Where it fails, the buffer carries the error to whoever
 * counted on it.
 */
export class ConvertedCopy {
  /** Owned by the tensor. */
  readonly buffer: DeviceBuffer
  /** The version of the tensor that is in it. */
  version: number
  /** True once it is known to exist on the device: only then may it be written again. */
  isIssued = false

  constructor(buffer: DeviceBuffer, version: number) {
    this.buffer = buffer
    this.version = version
  }
}
