import { ConvertedCopy } from './converted_copy.js'
import type { CudnnTensor } from './cudnn_tensor.js'
import { DeviceBuffer } from './device_buffer.js'
import type { DeviceKernels } from './device_kernels.js'
import type { DeviceMemory } from './device_memory.js'
import type { Arithmetic } from './precision.js'

/**
 * Between the executor's element type and what cuDNN computes with. Where the two are one, buffers pass through
 * (retained); else they are converted by kernels. What appends appends to the batch under construction.
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

  /**
   * `tensor` as cuDNN reads it, converted once for all passes until it changes, in a batch of its own; the caller releases
   * it. Undefined where there is nothing to convert, and for a changed tensor in a step that is gathered: such a step
   * converts for itself, as it may be dropped without a word to those who count on what it wrote.
   */
  shared(tensor: CudnnTensor, elements: number): DeviceBuffer | undefined {
    const { session } = this.#memory
    const { half } = this.#arithmetic
    if (half === undefined) return undefined
    const { copy, version } = tensor
    if (copy?.version === version) return copy.buffer.retain()
    if (session.isGathering) return undefined
    let current = copy?.isIssued ? copy : undefined
    const converted = session.run('convert the parameters', () => {
      current ??= new ConvertedCopy(this.allocate(elements), version)
      this.#kernels.each(`to_${half}`, elements, current.buffer, tensor.buffer, elements)
    })
    const made = current!
    made.version = version
    if (made !== copy) tensor.copy = made
    converted.then(
      () => {
        made.isIssued = true
      },
      () => {
        if (tensor.copy === made) tensor.copy = undefined
      },
    )
    return made.buffer.retain()
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
