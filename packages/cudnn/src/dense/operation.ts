import type { TensorLike } from '@cudnn-rnn/ops'
import type { CommandList } from '../device/command_list.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'

type BuffersOf<Tensors> = {
  readonly [Place in keyof Tensors]: undefined extends Tensors[Place] ? DeviceBuffer | undefined : DeviceBuffer
}

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

  /** The buffers of operands, of which some may be left out. */
  operands<const Tensors extends readonly (TensorLike | undefined)[]>(tensors: Tensors): BuffersOf<Tensors> {
    return tensors.map((tensor) => tensor && this.operand(tensor)) as BuffersOf<Tensors>
  }

  /** Queues the operation. Operands are released immediately: the worker frees their memory after the commands. */
  post(): void {
    for (const buffer of this.#owned) buffer.release()
    this.#executor.session.post(this.list)
  }
}
