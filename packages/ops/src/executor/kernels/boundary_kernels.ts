import { OPTIMIZER_RULES, type TensorLike } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { type HostCompute, hostKernels } from '../host/host_kernels.js'
import type { HostTensor } from '../host/host_tensor.js'
import { tensorRow } from '../host/tensor_rows.js'
import type { OperationKernels } from '../operations/checked_operations.js'
import { CHECKED_ROWS } from '../operations/checked_row.js'
import { ACTIVATIONS, ELEMENT_LOSSES, POOLINGS } from '../operations/operation_types.js'
import type { Numbers } from '../operations/pattern.js'
import type { StatementKernels } from '../operations/statements.js'
import type { HostRowName, RowName, TensorRowName } from '../operations/table.js'
import { TENSOR_ROWS } from '../operations/tensor_rows.js'
import type { OptimizerUpdate } from '../arguments/optimizer_update.js'
import {
  CallNumbers,
  INFEASIBLE_ROWS,
  LAYER_OPS,
  type LayerOpName,
  UPDATE_RULES,
  type UpdateRule,
} from './kernel_boundary.js'
import type { KernelExecutor } from './kernel_executor.js'

/** The operations of the kernels; those with a row are queued by it. */
export function boundaryKernels(executor: KernelExecutor): OperationKernels<HostTensor> {
  const { memory } = executor
  return Object.assign(new BoundaryStatements(executor), {
    ...hostKernels(memory, (name) => queue(executor, name), executor.allocateResult),
    /** A copy; nothing that is queued writes integers. */
    readIds: (ids: TensorLike) => (memory.elements(ids) as Int32Array).slice(),
  })
}

/** Results, then operands, by the names of the kernels' own arguments. */
const FIELDS = {
  linear: ['output', 'input', 'kernel', 'bias'],
  linearGradients: ['dInput', 'dKernel', 'dBias', 'input', 'kernel', 'dOutput'],
  embedding: ['output', 'table', 'ids'],
  embeddingGradient: ['table', 'ids', 'output'],
  softmaxCrossEntropy: ['loss', 'gradient', 'logits', 'labels', 'weights'],
  ctcLoss: ['loss', 'rowLosses', 'gradient', 'logits'],
} as const satisfies Readonly<Partial<Record<RowName, readonly string[]>>>

/** Names that kernels number by their places. */
const PLACES: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ['activation', ACTIVATIONS],
  ['pooling', POOLINGS],
  ['loss', ELEMENT_LOSSES],
  ['infeasible', INFEASIBLE_ROWS],
])

function numberOf(name: string, numbers: Numbers): number {
  const names = PLACES.get(name)
  return names === undefined ? numbers[name] : names.indexOf(numbers[name])
}

const OPS = Object.keys(LAYER_OPS)

/** Queues one operation by its row. */
function queue(executor: KernelExecutor, name: HostRowName): HostCompute {
  const { operations, tensorKernels } = executor
  if (name in TENSOR_ROWS) return tensorRow(tensorKernels, name as TensorRowName)
  if (name in FIELDS) {
    const kernel = name as keyof typeof FIELDS
    return (results, operands, numbers) => {
      const job: Record<string, unknown> = { ...numbers }
      const buffers = [...results, ...operands]
      for (const [k, field] of FIELDS[kernel].entries()) job[field] = buffers[k] ?? null
      if (kernel === 'ctcLoss') job['infeasible'] = numberOf('infeasible', numbers)
      return operations[kernel](job as never)
    }
  }
  const [lengthsPlace = -1] = CHECKED_ROWS.find((checked) => checked.name === name)?.bounded ?? []
  const op = name as LayerOpName
  const [counts, scalars] = [new CallNumbers(), new CallNumbers()]
  return (results, read, numbers) => {
    const operands: (FloatArray | null)[] = [...results]
    for (let k = 0; k < read.length; k++) if (k !== lengthsPlace) operands.push(read[k] ?? null)
    return operations.layer({
      op: OPS.indexOf(op),
      operands,
      results: results.length,
      counts: counts.of(operands.map((operand) => operand?.length ?? 0)),
      lengths: read[lengthsPlace] ?? null,
      numbers: scalars.of(LAYER_OPS[op].map((each) => numberOf(each, numbers))),
    })
  }
}

class BoundaryStatements implements StatementKernels<HostTensor> {
  readonly #executor: KernelExecutor
  readonly #numbers = new CallNumbers()

  constructor(executor: KernelExecutor) {
    this.#executor = executor
  }

  norm(tensors: readonly HostTensor[], maxNorm: number): HostTensor {
    const { memory, operations } = this.#executor
    const norm = memory.allocate(1)
    const job = operations.norm({ tensors: tensors.map(({ live: data }) => data as FloatArray), maxNorm, norm })
    if (maxNorm < Number.POSITIVE_INFINITY) for (const tensor of tensors) tensor.job = job
    return memory.result([], norm, job)
  }

  assign(variable: HostTensor, source: TensorLike): void {
    // Queued work has copies of integers.
    if (variable.dtype === 'int32') variable.live.set(this.#executor.memory.elements(source))
    else this.#queue('assign', [variable], [this.#executor.memory.floats(source)])
  }

  clip(tensors: readonly HostTensor[], limit: number): void {
    // All are looked at first: none is clipped if one was transferred elsewhere.
    for (const tensor of tensors) void tensor.live
    for (const tensor of tensors) this.#queue('clip', [tensor], [], [limit])
  }

  update(update: OptimizerUpdate, written: readonly HostTensor[], source: TensorLike | undefined): void {
    const read = source === undefined ? null : this.#executor.memory.floats(source)
    this.#queue(update.rule, written, [read], numbersOf(update))
  }

  #queue(
    rule: UpdateRule,
    written: readonly HostTensor[],
    read: readonly (FloatArray | null)[],
    numbers: readonly number[] = [],
  ): void {
    const job = this.#executor.operations.update({
      rule: UPDATE_RULES.indexOf(rule),
      operands: [...written.map(({ live: data }) => data as FloatArray), ...read],
      numbers: this.#numbers.of(numbers),
    })
    for (const tensor of written) tensor.job = job
  }
}

/** The numbers of an update, in the order of its options in the table of the rules; flags are 0 or 1. */
function numbersOf(update: OptimizerUpdate): number[] {
  if (update.rule === 'addScaled') return [update.scale]
  const values = update as unknown as Readonly<Record<string, number | boolean>>
  return Object.keys(OPTIMIZER_RULES[update.rule].options).map((name) => Number(values[name]))
}
