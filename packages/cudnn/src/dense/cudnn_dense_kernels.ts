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
import { BLOCK } from '../device/device_kernels.js'
import { CtcLosses } from './ctc_losses.js'
import { addRowLosses, CudnnLayerKernels, type KernelResults } from './cudnn_layer_kernels.js'
import { multiply } from './matrix_products.js'
import { computed, Operation } from './operation.js'
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
  linear(operands: KernelOperands<'linear'>, { rows, inputs, outputs }: KernelNumbers<'linear'>): CudnnTensor {
    const { arithmetic } = this.executor
    const shape = [...operands[0].shape.slice(0, -1), outputs]
    return this.one('run linear', operands, shape, (operation, [x, kernel, bias], y) => {
      const count = rows * outputs
      const factors = [
        { buffer: x, columns: inputs },
        { buffer: kernel, columns: outputs },
      ] as const
      // Bias first, then a product with beta = 1: one pass over y less than adding the bias afterwards.
      operation.each('broadcast_rows', count, { rows: y, bias, count, columns: outputs })
      multiply(operation.list, arithmetic, y, [rows, inputs, outputs], ...factors, 1)
    })
  }

  /**
   * dx [N,in] = dy·kernelᵀ, dkernel [in,out] = xᵀ·dy, dbias [out] = the column sums of dy. The transposes are options
   * of cuBLAS, not copies.
   */
  linearGradients(
    operands: KernelOperands<'linearGradients'>,
    { rows, inputs, outputs }: KernelNumbers<'linearGradients'>,
  ): KernelResults<'linearGradients'> {
    const { arithmetic } = this.executor
    const action = 'run the gradients of linear'
    const shapes = { input: operands[0].shape, kernel: operands[1].shape, bias: [outputs] }
    return computed(this.executor, action, operands, shapes, (operation, buffers, { input, kernel, bias }) => {
      const { list } = operation
      const x = { buffer: buffers[0], columns: inputs, transposed: true }
      const weights = { buffer: buffers[1], columns: outputs, transposed: true }
      const dy = { buffer: buffers[2], columns: outputs }
      const ones = operation.scratch(rows)
      multiply(list, arithmetic, input, [rows, outputs, inputs], dy, weights, 0)
      multiply(list, arithmetic, kernel, [inputs, rows, outputs], x, dy, 0)
      operation.each('fill', rows, { x: ones, count: rows, value: 1 })
      multiply(list, arithmetic, bias, [1, rows, outputs], { buffer: ones, columns: rows }, dy, 0)
    })
  }

  /** Ids that are on the host; on the device a wrong one makes the result NaN. */
  readIds(ids: TensorLike): Int32Array | undefined {
    return isBackendTensor(ids) ? undefined : (ids.data as Int32Array)
  }

  /** y [...,E] = table [V,E] at ids [...]. An id out of 0…V-1 gives a row of NaN: the kernel cannot throw. */
  embedding(
    operands: KernelOperands<'embedding'>,
    { columns, classes: vocabulary }: KernelNumbers<'embedding'>,
  ): CudnnTensor {
    const shape = [...operands[1].shape, columns]
    const count = elementCount(shape)
    return this.one('run embedding', operands, shape, (operation, [table, ids], rows) =>
      operation.each('embedding', count, { rows, table, ids, count, columns, vocabulary }),
    )
  }

  /** dtable [V,E]: the sum of the rows of dy whose id is v, zeros for ids that do not occur. */
  embeddingGradient(
    operands: KernelOperands<'embeddingGradient'>,
    { classes: vocabulary, columns }: KernelNumbers<'embeddingGradient'>,
  ): CudnnTensor {
    const action = 'run the gradient of embedding'
    return this.one(action, operands, [vocabulary, columns], (operation, [ids, rows], table) => {
      const count = elementCount(operands[0].shape)
      // Sorted by id, each row of the table is summed by one block in the order of the ids: no atomics, so the gradient
      // is the same bits in every run.
      const order = sortById(operation, ids, count, vocabulary)
      const fields = { table, ids, order, rows, count, columns, vocabulary }
      operation.list.launch('embedding_gradient', vocabulary, BLOCK, fields)
    })
  }

  /**
   * Mean of -ln softmax(logits [N,K])[label], weighted by row, and its gradient (softmax - onehot)·w/Σw. One block for
   * each row.
   */
  softmaxCrossEntropy(
    operands: KernelOperands<'softmaxCrossEntropy'>,
    { rows, classes }: KernelNumbers<'softmaxCrossEntropy'>,
  ): KernelResults<'softmaxCrossEntropy'> {
    const action = 'run softmax cross-entropy'
    const shapes = { loss: SCALAR, logitsGradient: operands[0].shape }
    return computed(this.executor, action, operands, shapes, (operation, [logits, labels, weights], results) => {
      const fields = { gradient: results.logitsGradient, logits, labels, weights, rows, classes }
      addRowLosses(operation, rows, weights, results.loss, (sums) =>
        operation.list.launch('softmax_cross_entropy', rows, BLOCK, { ...fields, ...sums }),
      )
    })
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
    const { session } = this.executor
    const most = session.info.multiProcessors * NORM_BLOCKS_PER_MULTIPROCESSOR
    const parts = tensors.map(({ buffer, shape }) => {
      const count = elementCount(shape)
      return { x: buffer, count, blocks: Math.min(Math.ceil(count / ELEMENTS_PER_NORM_BLOCK), most) }
    })
    const blocks = parts.reduce((sum, part) => sum + part.blocks, 0)
    return this.one('run the global norm', [], SCALAR, (operation, _, norm) => {
      const { list } = operation
      const partial = operation.own(list.allocate(blocks * Float64Array.BYTES_PER_ELEMENT))
      let first = 0
      // Partial sums go to fixed places and are added in order by one block, so the norm does not depend on scheduling.
      for (const part of parts) {
        list.launch('sum_of_squares', part.blocks, BLOCK, { partial, x: part.x, count: part.count, first })
        first += part.blocks
      }
      list.launch('norm_of_partials', 1, BLOCK, { norm, partial, count: blocks })
      for (const { x, count } of maxNorm === Number.POSITIVE_INFINITY ? [] : parts) {
        operation.each('clip_by_norm', count, { x, norm, count, limit: maxNorm })
      }
    })
  }

  /** Copies without a kernel; both have the same size. */
  assign(variable: CudnnTensor, source: TensorLike): void {
    const operation = new Operation(this.executor, 'assign')
    const from = operation.operand(source)
    const to = variable.buffer
    operation.list.add('copy', { to, toOffset: 0, from, fromOffset: 0, bytes: Math.min(to.bytes, from.bytes) })
    operation.post()
  }

  /** Clamps every element to ±limit; NaN stays. */
  clip(tensors: readonly CudnnTensor[], limit: number): void {
    const operation = new Operation(this.executor, 'clip')
    for (const { buffer, shape } of tensors) {
      const count = elementCount(shape)
      operation.each('clip_by_value', count, { x: buffer, count, limit })
    }
    operation.post()
  }

  /** One kernel for each variable: reads gradient and slots, writes variable and slots, in one pass over memory. */
  update(update: OptimizerUpdate, written: readonly CudnnTensor[], source: TensorLike | undefined): void {
    const operation = new Operation(this.executor, 'update')
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
    return this.one('guard updates', [], SCALAR, ({ list }, _, guard) =>
      list.launch('both_finite', 1, BLOCK, { guard, a: a.buffer, b: b.buffer }),
    )
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
