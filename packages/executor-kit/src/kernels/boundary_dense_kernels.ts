import { OPTIMIZER_RULES, type TensorLike } from '@cudnn-rnn/backend'
import { elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import type { CtcProblem } from '../ctc_problem.js'
import type { LinearSizes } from '../dense_arguments.js'
import type { DenseKernels, KernelOperands } from '../dense_kernels.js'
import type { HostTensor } from '../host/host_tensor.js'
import type { CtcLossResult, LinearGradients, SoftmaxCrossEntropyResult } from '../operation_results.js'
import type { OptimizerUpdate } from '../optimizer_update.js'
import { BoundaryLayerKernels } from './boundary_layer_kernels.js'
import { INFEASIBLE_ROWS, UPDATE_RULES, type UpdateRule } from './kernel_boundary.js'

/** The dense operations of the kernels: each is one operation. */
export class BoundaryDenseKernels extends BoundaryLayerKernels implements DenseKernels<HostTensor> {
  linear({ input, kernel, bias }: KernelOperands<'linear'>, sizes: LinearSizes): HostTensor {
    const { memory, operations } = this.executor
    const output = memory.allocate(sizes.rows * sizes.outputs)
    const given = { input: memory.floats(input), kernel: memory.floats(kernel), bias: memory.floats(bias) }
    const job = operations.linear({ ...given, ...sizes, output })
    return memory.result([...input.shape.slice(0, -1), sizes.outputs], output, job)
  }

  linearGradients(
    { input, kernel, outputGradient }: KernelOperands<'linearGradients'>,
    sizes: LinearSizes,
  ): LinearGradients {
    const { memory, operations } = this.executor
    const dInput = memory.allocate(sizes.rows * sizes.inputs)
    const dKernel = memory.allocate(sizes.inputs * sizes.outputs)
    const dBias = memory.allocate(sizes.outputs)
    const given = { input: memory.floats(input), kernel: memory.floats(kernel), dOutput: memory.floats(outputGradient) }
    const job = operations.linearGradients({ ...given, ...sizes, dInput, dKernel, dBias })
    return {
      input: memory.result(input.shape, dInput, job),
      kernel: memory.result(kernel.shape, dKernel, job),
      bias: memory.result([sizes.outputs], dBias, job),
    }
  }

  /** A copy; nothing that is queued writes integers. */
  readIds(ids: TensorLike): Int32Array {
    return this.#integers(ids).slice()
  }

  embedding({ table, ids }: KernelOperands<'embedding'>, columns: number): HostTensor {
    const { memory, operations } = this.executor
    const rows = this.#integers(ids)
    const output = memory.allocate(rows.length * columns)
    const job = operations.embedding({ table: memory.floats(table), ids: rows, columns, output })
    return memory.result([...ids.shape, columns], output, job)
  }

  embeddingGradient(
    { ids, outputGradient }: KernelOperands<'embeddingGradient'>,
    { vocabulary, columns }: { readonly vocabulary: number; readonly columns: number },
  ): HostTensor {
    const { memory, operations } = this.executor
    const table = memory.allocate(vocabulary * columns)
    const output = memory.floats(outputGradient)
    const job = operations.embeddingGradient({ table, ids: this.#integers(ids), columns, output })
    return memory.result([vocabulary, columns], table, job)
  }

  softmaxCrossEntropy(
    { logits, labels, weights }: KernelOperands<'softmaxCrossEntropy'>,
    sizes: { readonly rows: number; readonly classes: number },
  ): SoftmaxCrossEntropyResult {
    const { memory, operations } = this.executor
    const loss = memory.allocate(1)
    const gradient = memory.allocate(elementCount(logits.shape))
    const job = operations.softmaxCrossEntropy({
      logits: memory.floats(logits),
      labels: this.#integers(labels),
      weights: weights === undefined ? null : memory.floats(weights),
      ...{ ...sizes, loss, gradient },
    })
    return { loss: memory.result([], loss, job), logitsGradient: memory.result(logits.shape, gradient, job) }
  }

  ctcLoss({ logits }: KernelOperands<'ctcLoss'>, problem: CtcProblem): CtcLossResult {
    const { memory, operations, allocateResult } = this.executor
    const loss = memory.allocate(1)
    const rowLosses = memory.allocate(problem.batch)
    const gradient = allocateResult(elementCount(logits.shape))
    const infeasible = INFEASIBLE_ROWS.indexOf(problem.infeasible)
    const job = operations.ctcLoss({ ...problem, infeasible, logits: memory.floats(logits), loss, rowLosses, gradient })
    return {
      loss: memory.result([], loss, job),
      rowLosses: memory.result([problem.batch], rowLosses, job),
      logitsGradient: memory.result(logits.shape, gradient, job),
    }
  }

  norm(tensors: readonly HostTensor[], maxNorm: number): HostTensor {
    const { memory, operations } = this.executor
    const norm = memory.allocate(1)
    const job = operations.norm({ tensors: tensors.map(({ data }) => data as FloatArray), maxNorm, norm })
    if (maxNorm < Number.POSITIVE_INFINITY) for (const tensor of tensors) tensor.job = job
    return memory.result([], norm, job)
  }

  assign(variable: HostTensor, source: TensorLike): void {
    // Queued work has copies of integers.
    if (variable.dtype === 'int32') variable.data.set(this.executor.memory.elements(source))
    else this.#queue('assign', [variable], [this.executor.memory.floats(source)])
  }

  clip(tensors: readonly HostTensor[], limit: number): void {
    // All are looked at first: none is clipped where one was transferred elsewhere.
    for (const tensor of tensors) void tensor.data
    for (const tensor of tensors) this.#queue('clip', [tensor], [], [limit])
  }

  update(update: OptimizerUpdate, written: readonly HostTensor[], source: TensorLike | undefined): void {
    const read = source === undefined ? null : this.executor.memory.floats(source)
    this.#queue(update.rule, written, [read], numbersOf(update))
  }

  #queue(
    rule: UpdateRule,
    written: readonly HostTensor[],
    read: readonly (FloatArray | null)[],
    numbers: readonly number[] = [],
  ): void {
    const job = this.executor.operations.update({
      rule: UPDATE_RULES.indexOf(rule),
      operands: [...written.map(({ data }) => data as FloatArray), ...read],
      numbers: Float64Array.from(numbers),
    })
    for (const tensor of written) tensor.job = job
  }

  #integers(tensor: TensorLike): Int32Array {
    return this.executor.memory.elements(tensor) as Int32Array
  }
}

/** The numbers of an update, in the order of its options in the table of the rules; flags are 0 or 1. */
function numbersOf(update: OptimizerUpdate): number[] {
  if (update.rule === 'addScaled') return [update.scale]
  const values = update as unknown as Readonly<Record<string, number | boolean>>
  return Object.keys(OPTIMIZER_RULES[update.rule].options).map((name) => Number(values[name]))
}
