import { ANYTHING, checkArguments, FUNCTION, listOf } from '@cudnn-rnn/canonical/rules'
import { type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'
import {
  type CtcLossResult,
  type CtcProblem,
  checkTensor,
  type KernelNumbers,
  type KernelOperands,
  type OperationKernels,
  type OptimizerUpdate,
  ownTensor,
  type TensorRowName,
} from '@cudnn-rnn/ops/executor'
import type { CudnnTensor } from '../device/cudnn_tensor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { BLOCK, launchEach } from '../device/device_kernels.js'
import { CtcLosses } from './ctc_losses.js'
import { CudnnLayerKernels, type KernelResults } from './cudnn_layer_kernels.js'
import { multiply } from './matrix_products.js'
import type { Operation } from './operation.js'
import { launchUpdate } from './update_launch.js'

/** Most blocks per multiprocessor whose partial sums of squares are added up in a second step: enough for bandwidth. */
const NORM_BLOCKS_PER_MULTIPROCESSOR = 4
const SCALAR: readonly number[] = Object.freeze([])
/** Elements that make one block worth its launch. */
const ELEMENTS_PER_NORM_BLOCK = 4 * BLOCK

/** The dense operations on the device: each is one segment of kernels and products, and nothing waits for it. */
export class CudnnDenseKernels extends CudnnLayerKernels implements Omit<OperationKernels<CudnnTensor>, TensorRowName> {
  readonly readsCounts = true
  #ctcLosses: CtcLosses | undefined
  /** If it is not finite, updates change nothing. */
  #guard: CudnnTensor | undefined

  /** y [N,out] = x [N,in] · kernel [in,out] + bias [out]. */
  linear(
    [input, kernel, bias]: KernelOperands<'linear'>,
    { rows, inputs, outputs }: KernelNumbers<'linear'>,
  ): CudnnTensor {
    const { memory, session, arithmetic } = this.executor
    const operation = this.begin('run linear')
    const { list } = operation
    const x = { buffer: operation.operand(input), columns: inputs }
    const weights = { buffer: operation.operand(kernel), columns: outputs }
    const y = memory.allocate(list, rows * outputs)
    const count = rows * outputs
    const added = { rows: y, bias: operation.operand(bias), count, columns: outputs }
    // Bias first, then a product with beta = 1: one pass over y less than adding the bias afterwards.
    launchEach(session, list, 'broadcast_rows', count, added)
    multiply(list, arithmetic, y, [rows, inputs, outputs], x, weights, 1)
    operation.post()
    return memory.tensor(y, [...input.shape.slice(0, -1), outputs])
  }

  /**
   * dx [N,in] = dy·kernelᵀ, dkernel [in,out] = xᵀ·dy, dbias [out] = the column sums of dy. The transposes are options
   * of cuBLAS, not copies.
   */
  linearGradients(
    [input, kernel, outputGradient]: KernelOperands<'linearGradients'>,
    { rows, inputs, outputs }: KernelNumbers<'linearGradients'>,
  ): KernelResults<'linearGradients'> {
    const { memory, session, arithmetic } = this.executor
    const operation = this.begin('run the gradients of linear')
    const { list } = operation
    const x = { buffer: operation.operand(input), columns: inputs, transposed: true }
    const weights = { buffer: operation.operand(kernel), columns: outputs, transposed: true }
    const dy = { buffer: operation.operand(outputGradient), columns: outputs }
    const dx = memory.allocate(list, rows * inputs)
    const dkernel = memory.allocate(list, inputs * outputs)
    const dbias = memory.allocate(list, outputs)
    const ones = operation.own(memory.allocate(list, rows))
    multiply(list, arithmetic, dx, [rows, outputs, inputs], dy, weights, 0)
    multiply(list, arithmetic, dkernel, [inputs, rows, outputs], x, dy, 0)
    launchEach(session, list, 'fill', rows, { x: ones, count: rows, value: 1 })
    multiply(list, arithmetic, dbias, [1, rows, outputs], { buffer: ones, columns: rows }, dy, 0)
    operation.post()
    return {
      input: memory.tensor(dx, input.shape),
      kernel: memory.tensor(dkernel, kernel.shape),
      bias: memory.tensor(dbias, [outputs]),
    }
  }

  /** Ids that are on the host; on the device a wrong one makes the result NaN. */
  readIds(ids: TensorLike): Int32Array | undefined {
    return isBackendTensor(ids) ? undefined : (ids.data as Int32Array)
  }

  /** y [...,E] = table [V,E] at ids [...]. An id out of 0…V-1 gives a row of NaN: the kernel cannot throw. */
  embedding(
    [table, ids]: KernelOperands<'embedding'>,
    { columns, classes: vocabulary }: KernelNumbers<'embedding'>,
  ): CudnnTensor {
    const { memory, session } = this.executor
    const operation = this.begin('run embedding')
    const from = operation.operand(table)
    const at = operation.operand(ids)
    const count = elementCount(ids.shape) * columns
    const rows = memory.allocate(operation.list, count)
    const fields = { rows, table: from, ids: at, count, columns, vocabulary }
    launchEach(session, operation.list, 'embedding', count, fields)
    operation.post()
    return memory.tensor(rows, [...ids.shape, columns])
  }

  /** dtable [V,E]: the sum of the rows of dy whose id is v, zeros for ids that do not occur. */
  embeddingGradient(
    operands: KernelOperands<'embeddingGradient'>,
    { classes: vocabulary, columns }: KernelNumbers<'embeddingGradient'>,
  ): CudnnTensor {
    const { memory } = this.executor
    const operation = this.begin('run the gradient of embedding')
    const { list } = operation
    const [ids, rows] = operation.operands(operands)
    const count = elementCount(operands[0].shape)
    const table = memory.allocate(list, vocabulary * columns)
    // Sorted by id, each row of the table is summed by one block in the order of the ids: no atomics, so the gradient
    // is the same bits in every run.
    const order = sortById(operation, ids, count, vocabulary)
    const fields = { table, ids, order, rows, count, columns, vocabulary }
    list.launch('embedding_gradient', vocabulary, BLOCK, fields)
    operation.post()
    return memory.tensor(table, [vocabulary, columns])
  }

  /**
   * Mean of -ln softmax(logits [N,K])[label], weighted by row, and its gradient (softmax - onehot)·w/Σw. One block for
   * each row.
   */
  softmaxCrossEntropy(
    operands: KernelOperands<'softmaxCrossEntropy'>,
    { rows, classes }: KernelNumbers<'softmaxCrossEntropy'>,
  ): KernelResults<'softmaxCrossEntropy'> {
    const { memory } = this.executor
    const operation = this.begin('run softmax cross-entropy')
    const { list } = operation
    const [logits, labels, weights] = operation.operands(operands)
    const gradient = memory.allocate(list, rows * classes)
    const loss = memory.allocate(list, 1)
    // Loss and weight sums are float64 on the device: a mean over thousands of rows in float32 would lose digits.
    const rowLosses = operation.own(list.allocate(rows * Float64Array.BYTES_PER_ELEMENT))
    const total = operation.own(list.allocate(Float64Array.BYTES_PER_ELEMENT))
    if (weights) list.launch('sum', 1, BLOCK, { total, x: weights, count: rows })
    else list.add('clear', { to: total, offset: 0, bytes: total.bytes })
    const fields = { gradient, loss: rowLosses, logits, labels, weights, total, rows, classes }
    list.launch('softmax_cross_entropy', rows, BLOCK, fields)
    list.launch('sum_losses', 1, BLOCK, { loss, rows: rowLosses, count: rows })
    operation.post()
    return { loss: memory.tensor(loss, SCALAR), logitsGradient: memory.tensor(gradient, operands[0].shape) }
  }

  /** The CTC loss of logits [T,B,K], see {@link CtcLosses}. */
  ctcLoss([logits]: KernelOperands<'ctcLoss'>, problem: CtcProblem): Promise<CtcLossResult> {
    this.#ctcLosses ??= new CtcLosses(this.executor)
    return this.#ctcLosses.loss(logits, problem)
  }

  /**
   * The global norm √Σx² over all tensors, and if it exceeds `maxNorm` every tensor · maxNorm/norm, as
   * tf.clip_by_global_norm. Nothing is read back: the clipping kernel reads the norm on the device.
   */
  norm(tensors: readonly CudnnTensor[], maxNorm: number): CudnnTensor {
    const { memory, session } = this.executor
    const operation = this.begin('run the global norm')
    const { list } = operation
    const norm = memory.allocate(list, 1)
    const most = session.info.multiProcessors * NORM_BLOCKS_PER_MULTIPROCESSOR
    const parts = tensors.map(({ buffer, shape }) => {
      const count = elementCount(shape)
      return { x: buffer, count, blocks: Math.min(Math.ceil(count / ELEMENTS_PER_NORM_BLOCK), most) }
    })
    const blocks = parts.reduce((sum, part) => sum + part.blocks, 0)
    const partial = operation.own(list.allocate(blocks * Float64Array.BYTES_PER_ELEMENT))
    let first = 0
    // Partial sums go to fixed places and are added in order by one block, so the norm does not depend on scheduling.
    for (const part of parts) {
      list.launch('sum_of_squares', part.blocks, BLOCK, { partial, x: part.x, count: part.count, first })
      first += part.blocks
    }
    list.launch('norm_of_partials', 1, BLOCK, { norm, partial, count: blocks })
    for (const { x, count } of maxNorm === Number.POSITIVE_INFINITY ? [] : parts) {
      launchEach(session, list, 'clip_by_norm', count, { x, norm, count, limit: maxNorm })
    }
    operation.post()
    return memory.tensor(norm, SCALAR)
  }

  /** Copies without a kernel; both have the same size. */
  assign(variable: CudnnTensor, source: TensorLike): void {
    const operation = this.begin('assign')
    const from = operation.operand(source)
    const to = variable.buffer
    operation.list.add('copy', { to, toOffset: 0, from, fromOffset: 0, bytes: Math.min(to.bytes, from.bytes) })
    operation.post()
  }

  /** Clamps every element to ±limit; NaN stays. */
  clip(tensors: readonly CudnnTensor[], limit: number): void {
    const operation = this.begin('clip')
    for (const { buffer, shape } of tensors) {
      const count = elementCount(shape)
      launchEach(this.executor.session, operation.list, 'clip_by_value', count, { x: buffer, count, limit })
    }
    operation.post()
  }

  /** One kernel for each variable: reads gradient and slots, writes variable and slots, in one pass over memory. */
  update(update: OptimizerUpdate, written: readonly CudnnTensor[], source: TensorLike | undefined): void {
    const operation = this.begin('update')
    const operands = {
      written: written.map(({ buffer }) => buffer),
      source: source && operation.operand(source),
      steps: update.rule === 'adam' && update.count ? operation.operand(update.count) : undefined,
      guard: this.#guard?.buffer,
    }
    launchUpdate(this.executor.session, operation.list, update, elementCount(written[0].shape), operands)
    operation.post()
  }

  /** {@link TrainingSteps.whereFinite} */
  whereFinite(scalars: readonly BackendTensor[], updates: () => void): void {
    const action = 'guard updates'
    const { memory } = this.executor
    memory.life.check(action)
    checkArguments(action, { scalars, updates }, { scalars: listOf(ANYTHING), updates: FUNCTION })
    for (const [index, scalar] of scalars.entries()) {
      checkTensor(action, `scalars[${index}]`, scalar, { dtype: memory.dtype, shape: [] })
    }
    const own = scalars.map((scalar, index) => ownTensor(memory, action, `scalars[${index}]`, scalar))
    // Calls may nest: inner updates need all guards finite.
    const before = this.#guard
    const guards: CudnnTensor[] = []
    try {
      for (const scalar of own) {
        const both = this.#guard && this.#bothFinite(this.#guard, scalar)
        this.#guard = both ?? scalar
        if (both) guards.push(both)
      }
      updates()
    } finally {
      this.#guard = before
      for (const guard of guards) guard.dispose()
    }
  }

  /** A scalar that is finite if both are. */
  #bothFinite(a: CudnnTensor, b: CudnnTensor): CudnnTensor {
    const operation = this.begin('guard updates')
    const guard = this.executor.memory.allocate(operation.list, 1)
    operation.list.launch('both_finite', 1, BLOCK, { guard, a: a.buffer, b: b.buffer })
    operation.post()
    return this.executor.memory.tensor(guard, SCALAR)
  }
}

/** The positions of `ids` sorted by id, stably: a radix sort by digits of BLOCK values. */
function sortById(operation: Operation, ids: DeviceBuffer, count: number, vocabulary: number): DeviceBuffer {
  const { list } = operation
  const blocks = Math.ceil(count / BLOCK)
  const positions = () => operation.own(list.allocate(count * Int32Array.BYTES_PER_ELEMENT))
  const counts = operation.own(list.allocate(blocks * BLOCK * Int32Array.BYTES_PER_ELEMENT))
  let order: DeviceBuffer | undefined
  // The largest key is the vocabulary: ids outside of it.
  for (let place = 1; place <= vocabulary; place *= BLOCK) {
    const sorted = positions()
    list.launch('digit_counts', blocks, BLOCK, { counts, ids, order, count, vocabulary, place })
    list.launch('digit_offsets', 1, BLOCK, { counts, blocks })
    list.launch('sort_by_digit', blocks, BLOCK, { sorted, counts, ids, order, count, vocabulary, place })
    order = sorted
  }
  return order ?? positions()
}
