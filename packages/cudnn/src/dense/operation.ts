import { elementCount } from '@cudnn-rnn/canonical'
import type { BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import {
  CHECKED_ROWS,
  type KernelNumbers,
  type KernelOperands,
  type RowKernels,
  type RowName,
} from '@cudnn-rnn/ops/executor'
import type { CommandList, KernelFields } from '../device/command_list.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import type { CudnnTensor } from '../device/cudnn_tensor.js'
import { BufferOwner, type DeviceBuffer } from '../device/device_buffer.js'
import { launchEach } from '../device/device_kernels.js'
import type { KernelName } from '../sys/kernels.js'

/** One operation: its segment, and the buffers that go when it is posted. */
export class Operation extends BufferOwner {
  readonly executor: CudnnExecutor
  readonly list: CommandList

  constructor(executor: CudnnExecutor, action: string) {
    super()
    this.executor = executor
    this.list = executor.session.begin(action)
  }

  operand(tensor: TensorLike): DeviceBuffer {
    return this.own(this.executor.memory.operand(this.list, tensor))
  }

  /** A buffer for `elements` that goes when the operation is posted. */
  scratch(elements: number): DeviceBuffer {
    return this.own(this.executor.memory.allocate(this.list, elements))
  }

  /** Launches a kernel with one thread for each element. */
  each<Name extends KernelName>(name: Name, count: number, fields: KernelFields<Name>): void {
    launchEach(this.executor.session, this.list, name, count, fields)
  }

  /** Queues the operation. Operands are released immediately: the worker frees their memory after the commands. */
  post(): void {
    this.release()
    this.executor.session.post(this.list)
  }
}

/** One operation: `launch` adds the kernels that compute tensors of `shapes` from the operands. Nothing waits for it. */
export function computed(
  executor: CudnnExecutor,
  action: string,
  operands: readonly (TensorLike | undefined)[],
  shapes: readonly (readonly number[])[],
  // biome-ignore lint/suspicious/noExplicitAny: operands may be absent, as the row has it
  launch: (operation: Operation, operands: readonly any[], results: readonly DeviceBuffer[]) => void,
): readonly CudnnTensor[] {
  const { memory } = executor
  const operation = new Operation(executor, action)
  const read = operands.map((tensor) => tensor && operation.operand(tensor))
  const results = shapes.map((shape) => memory.allocate(operation.list, elementCount(shape)))
  launch(operation, read, results)
  operation.post()
  return results.map((buffer, k) => memory.tensor(buffer, shapes[k]))
}

type BuffersOf<Tensors> = {
  readonly [Place in keyof Tensors]: undefined extends Tensors[Place] ? DeviceBuffer | undefined : DeviceBuffer
}

type ResultOf<Name extends RowName> = Awaited<ReturnType<NonNullable<RowKernels[Name]>>>

/** How the results of a row are computed from its operands: one buffer, or several by their names. */
export interface RowLaunch<Name extends RowName> {
  /** Completes "Cannot … as …" if a call fails later. */
  readonly action: string
  readonly launch: (
    operation: Operation,
    operands: BuffersOf<KernelOperands<Name>>,
    results: ResultOf<Name> extends BackendTensor ? DeviceBuffer : BuffersOf<ResultOf<Name>>,
    numbers: KernelNumbers<Name>,
  ) => void
}

export function launching<Name extends RowName>(action: string, launch: RowLaunch<Name>['launch']): RowLaunch<Name> {
  return { action, launch }
}

/** The kernels of rows; nothing waits for them. */
export function rowKernels<Name extends RowName>(
  executor: CudnnExecutor,
  launches: { readonly [Row in Name]: RowLaunch<Row> },
): Pick<RowKernels, Name> {
  const kernels: Partial<Record<RowName, unknown>> = {}
  for (const { name, results: patterns, operands: list } of CHECKED_ROWS) {
    if (!(name in launches)) continue
    // biome-ignore lint/suspicious/noExplicitAny: operands and numbers of any row
    const { action, launch } = launches[name as Name] as { action: string; launch: (...given: any[]) => void }
    const named = <Value>(values: readonly Value[]) => {
      if (values.length === 1) return values[0]
      const record: Record<string, Value> = {}
      for (let k = 0; k < values.length; k++) record[patterns[k].key] = values[k]
      return record
    }
    const hasList = list.some(({ pattern }) => pattern.isList)
    kernels[name] = (operands: readonly TensorLike[], numbers: unknown, shapes: readonly (readonly number[])[]) =>
      named(
        computed(executor, action, hasList ? operands.flat() : operands, shapes, (operation, read, results) =>
          launch(operation, read, named(results), numbers),
        ),
      )
  }
  return kernels as Pick<RowKernels, Name>
}
