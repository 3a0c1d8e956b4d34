import type { TensorLike } from '@cudnn-rnn/backend'
import type { CommandList } from '../device/command_list.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'

/** One operation: its segment, and the buffers that go when it is posted. */
export class Operation {
  readonly list: CommandList
  readonly #executor: CudnnExecutor
  readonly #owned: DeviceBuffer[] = []

  constructor(executor: CudnnExecutor, action: string) {
    this.#executor = executor
    this.list = executor.session.begin(action)
  }

  /** The buffer of an operand. */
  operand(tensor: TensorLike): DeviceBuffer {
    return this.own(this.#executor.memory.operand(this.list, tensor))
  }

  own(buffer: DeviceBuffer): DeviceBuffer {
    this.#owned.push(buffer)
    return buffer
  }

  /** The buffer of an operand that may be left out. */
  optional(tensor: TensorLike | undefined): DeviceBuffer | undefined {
    return tensor && this.operand(tensor)
  }

  /** Queues the operation. Operands are released immediately: the worker frees their memory after the commands. */
  post(): void {
    for (const buffer of this.#owned) buffer.release()
    this.#executor.session.post(this.list)
  }
}
