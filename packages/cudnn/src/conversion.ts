import { DeviceBuffer } from './device_buffer.js'
import type { DeviceKernels } from './device_kernels.js'
import type { DeviceMemory } from './device_memory.js'
import type { Arithmetic } from './precision.js'

/**
 * Between the executor's element type and what cuDNN computes with. Where the two are one, buffers pass through
 * (retained); else they are converted by kernels. All calls append to the batch under construction.
 */
export class Conversion {
  readonly #memory: DeviceMemory
  readonly #kernels: DeviceKernels
  readonly #arithmetic: Arithmetic

  constructor(memory: DeviceMemory, kernels: DeviceKernels, arithmetic: Arithmetic) {
    this.#memory = memory
    this.#kernels = kernels
    this.#arithmetic = arithmetic
  }

  /** A buffer for `elements` results of cuDNN. */
  allocate(elements: number): DeviceBuffer {
    return new DeviceBuffer(this.#memory.session, elements * this.#arithmetic.bytes)
  }

  /** `buffer` as cuDNN reads it; the caller releases what comes back. */
  toCudnn(buffer: DeviceBuffer, elements: number): DeviceBuffer {
    const { half } = this.#arithmetic
    if (half === undefined) return buffer.retain()
    const converted = this.allocate(elements)
    this.#kernels.each(`to_${half}`, elements, converted, buffer, elements)
    return converted
  }

  /** What cuDNN wrote, in the executor's element type; the caller releases what comes back. */
  fromCudnn(buffer: DeviceBuffer, elements: number): DeviceBuffer {
    const { half } = this.#arithmetic
    if (half === undefined) return buffer.retain()
    const converted = this.#memory.allocate(elements)
    this.#kernels.each(`from_${half}`, elements, converted, buffer, elements)
    return converted
  }
}
