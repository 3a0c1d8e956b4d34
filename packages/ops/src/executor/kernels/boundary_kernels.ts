import { required } from '@cudnn-rnn/canonical/rules'
import { OPTIMIZER_RULES, type TensorLike } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { type HostCompute, hostKernels } from '../host/host_kernels.js'
import type { HostTensor } from '../host/host_tensor.js'
import { tensorRow } from '../host/tensor_rows.js'
import type { OperationKernels } from '../operations/checked_operations.js'
import { CHECKED_ROWS } from '../operations/checked_row.js'
import { ACTIVATIONS, ELEMENT_LOSSES, POOLINGS } from '../operations/operation_types.js'
import { countOf, type Numbers } from '../operations/pattern.js'
import type { StatementKernels } from '../operations/statements.js'
import type { HostRowName, TensorRowName } from '../operations/table.js'
import { TENSOR_ROWS } from '../operations/tensor_rows.js'
import type { CtcProblem } from '../arguments/ctc_problem.js'
import type { OptimizerUpdate } from '../arguments/optimizer_update.js'
import { CallNumbers, INFEASIBLE_ROWS, KERNEL_OPERATIONS, ROW_NUMBERS, type UpdateName } from './kernel_boundary.js'
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

/** Queues one operation by its row. */
function queue(executor: KernelExecutor, name: HostRowName): HostCompute {
  const { operations, tensorKernels } = executor
  if (name in TENSOR_ROWS) return tensorRow(tensorKernels, name as TensorRowName)
  if (name === 'ctcLoss') {
    return ([loss, rowLosses, gradient], [logits], problem) => {
      const infeasible = numberOf('infeasible', problem)
      return operations.ctcLoss({ ...(problem as CtcProblem), infeasible, logits, loss, rowLosses, gradient })
    }
  }
  const checked = required(
    CHECKED_ROWS.find((each) => each.name === name),
    'every operation has a row',
  )
  const [place = -1] = checked.bounded
  const read = checked.operands.map(({ pattern }) => pattern)
  const patterns = [...checked.results, ...read.filter((_, k) => k !== place), ...(place === -1 ? [] : [read[place]])]
  const ofNoIntegers = place === -1 ? [0] : []
  const op = KERNEL_OPERATIONS.indexOf(name as keyof typeof ROW_NUMBERS)
  const [counts, scalars] = [new CallNumbers(), new CallNumbers()]
  return (results, given, numbers) => {
    const operands: (FloatArray | null)[] = [...results]
    for (let k = 0; k < given.length; k++) if (k !== place) operands.push(given[k] ?? null)
    return operations.run({
      ...{ op, operands, results: results.length, integers: given[place] ?? null },
      counts: counts.of(
        patterns.map((pattern) => countOf(pattern, numbers)),
        ofNoIntegers,
      ),
      numbers: scalars.of(ROW_NUMBERS[name as keyof typeof ROW_NUMBERS].map((each) => numberOf(each, numbers))),
    })
  }
}

class BoundaryStatements implements StatementKernels<HostTensor> {
  readonly #executor: KernelExecutor
  readonly #counts = new CallNumbers()
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
    name: UpdateName,
    written: readonly HostTensor[],
    read: readonly (FloatArray | null)[],
    numbers: readonly number[] = [],
  ): void {
    const operands = [...written.map(({ live: data }) => data as FloatArray), ...read]
    const counts = this.#counts.of(
      operands.map(() => operands[0]?.length ?? 0),
      [0],
    )
    const job = this.#executor.operations.run({
      ...{ op: KERNEL_OPERATIONS.indexOf(name), operands, results: written.length },
      ...{ counts, integers: null, numbers: this.#numbers.of(numbers) },
    })
    for (const tensor of written) tensor.job = job
  }
}

/** Copies `from` to `to`, after all queued operations. */
export function queueCopy({ operations }: KernelExecutor, to: FloatArray, from: FloatArray): number {
  return operations.run({
    ...{ op: KERNEL_OPERATIONS.indexOf('assign'), operands: [to, from], results: 1 },
    ...{ counts: Float64Array.of(to.length, to.length, 0), integers: null, numbers: new Float64Array(0) },
  })
}

/** The numbers of an update, in the order of its options in the table of the rules; flags are 0 or 1. */
function numbersOf(update: OptimizerUpdate): number[] {
  if (update.rule === 'addScaled') return [update.scale]
  const values = update as unknown as Readonly<Record<string, number | boolean>>
  return Object.keys(OPTIMIZER_RULES[update.rule].options).map((name) => Number(values[name]))
}
