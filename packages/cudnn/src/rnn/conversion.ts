import type { CommandList } from '../device/command_list.js'
import type { CudnnTensor } from '../device/cudnn_tensor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { launchEach } from '../device/device_kernels.js'
import type { DeviceMemory } from '../device/device_memory.js'
import type { Arithmetic } from '../device/precision.js'

/** The name of a 16-bit type. */
type Half = NonNullable<Arithmetic['half']>

/**
 * Converts between the executor's element type and the one that cuDNN computes with. If they are equal, buffers are
 * returned unchanged (retained); else kernels convert them. The caller releases the returned buffer.
 */
export class Conversion {
  readonly #memory: DeviceMemory
  readonly #arithmetic: Arithmetic

  constructor(memory: DeviceMemory, arithmetic: Arithmetic) {
    this.#memory = memory
    this.#arithmetic = arithmetic
  }

  /** A buffer for `elements` results of cuDNN. */
  allocate(list: CommandList, elements: number): DeviceBuffer {
    return list.allocate(elements * this.#arithmetic.bytes)
  }

  /** `buffer` as cuDNN reads it. */
  toCudnn(list: CommandList, buffer: DeviceBuffer, elements: number): DeviceBuffer {
    const { half } = this.#arithmetic
    if (half === undefined) return buffer.retain()
    const converted = this.allocate(list, elements)
    this.#convert(half, list, converted, buffer, elements)
    return converted
  }

  /**
   * `tensor` in cuDNN's element type, converted once for all passes until it changes, in a separate list. Undefined
   * if no conversion is needed, and for a changed tensor in a step: the outputs of a failed step carry no error, so a
   * copy shared with later passes could be stale without notice, and the step converts for itself.
   */
  shared(tensor: CudnnTensor, elements: number): DeviceBuffer | undefined {
    const { session } = this.#memory
    const { half } = this.#arithmetic
    if (half === undefined) return undefined
    const { copy, version } = tensor
    if (copy?.version === version) return copy.buffer.retain()
    if (session.isRecording) return undefined
    const list = session.list('convert the parameters')
    // A copy that may not exist yet is not rewritten: its allocation may still fail.
    const current = copy?.isIssued ? copy : { buffer: this.allocate(list, elements), version, isIssued: false }
    this.#convert(half, list, current.buffer, tensor.buffer, elements)
    const converted = session.run(list)
    // Before the conversion has run: later passes are queued after it, so they read the converted values.
    current.version = version
    if (current !== copy) tensor.copy = current
    converted.then(
      () => {
        current.isIssued = true
      },
      () => {
        if (tensor.copy === current) tensor.copy = undefined
      },
    )
    return current.buffer.retain()
  }

  /** Results of cuDNN in the executor's element type; the caller releases the buffer. */
  fromCudnn(list: CommandList, buffer: DeviceBuffer, elements: number): DeviceBuffer {
    const { half } = this.#arithmetic
    if (half === undefined) return buffer.retain()
    const converted = this.#memory.allocate(list, elements)
    launchEach(this.#memory.session, list, `from_${half}`, elements, { y: converted, x: buffer, count: elements })
    return converted
  }

  /** Rounds to nearest even: y = half(x), element by element. */
  #convert(half: Half, list: CommandList, y: DeviceBuffer, x: DeviceBuffer, count: number): void {
    launchEach(this.#memory.session, list, `to_${half}`, count, { y, x, count })
  }
}
