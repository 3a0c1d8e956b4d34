import { elementCount } from '@cudnn-rnn/canonical'
import type { TensorLike } from '@cudnn-rnn/ops'
import type { CommandList, KernelFields } from '../device/command_list.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import type { CudnnTensor } from '../device/cudnn_tensor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { launchEach } from '../device/device_kernels.js'
import type { KernelName } from '../sys/commands.js'

export type BuffersOf<Tensors> = {
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

  /** A buffer for `elements` that goes when the operation is posted. */
  scratch(elements: number): DeviceBuffer {
    return this.own(this.#executor.memory.allocate(this.list, elements))
  }

  /** Launches a kernel with one thread for each element. */
  each<Name extends KernelName>(name: Name, count: number, fields: KernelFields<Name>): void {
    launchEach(this.#executor.session, this.list, name, count, fields)
  }

  /** Queues the operation. Operands are released immediately: the worker frees their memory after the commands. */
  post(): void {
    for (const buffer of this.#owned) buffer.release()
    this.#executor.session.post(this.list)
  }
}

/** One operation: `launch` adds the kernels that compute tensors of `shapes` from the operands. Nothing waits for it. */
export function computed<const Tensors extends readonly (TensorLike | undefined)[], Name extends string>(
  executor: CudnnExecutor,
  action: string,
  operands: Tensors,
  shapes: Readonly<Record<Name, readonly number[]>>,
  launch: (operation: Operation, operands: BuffersOf<Tensors>, results: Readonly<Record<Name, DeviceBuffer>>) => void,
): Record<Name, CudnnTensor> {
  const { memory } = executor
  const operation = new Operation(executor, action)
  const read = operation.operands(operands)
  const names = Object.keys(shapes) as Name[]
  const results = {} as Record<Name, DeviceBuffer>
  for (const name of names) results[name] = memory.allocate(operation.list, elementCount(shapes[name]))
  launch(operation, read, results)
  operation.post()
  const tensors = {} as Record<Name, CudnnTensor>
  for (const name of names) tensors[name] = memory.tensor(results[name], shapes[name])
  return tensors
}
