import {
  type BackendTensor,
  isBackendTensor,
  type LinearGradients,
  type SoftmaxCrossEntropyResult,
  type TensorLike,
} from '@cudnn-rnn/backend'
import { elementCount } from '@cudnn-rnn/canonical'
import {
  checkTensor,
  type DenseKernels,
  type KernelOperands,
  type LinearSizes,
  type OptimizerUpdate,
  ownTensor,
} from '@cudnn-rnn/executor-kit'
import { CudnnLayerKernels } from './cudnn_layer_kernels.js'
import type { CudnnTensor } from './cudnn_tensor.js'
import { DeviceBuffer } from './device_buffer.js'
import type { KernelParameter } from './device_kernels.js'
import { BLOCK } from './kernel_table.js'
import { appendMatrixProduct } from './matrix_products.js'
import type { PassBuffers } from './pass_buffers.js'
import { launchOf } from './update_launch.js'

/** Most blocks per multiprocessor whose partial sums of squares are added up in a second step: enough for bandwidth. */
const NORM_BLOCKS_PER_MULTIPROCESSOR = 4
/** Elements that make one block worth its launch. */
const ELEMENTS_PER_NORM_BLOCK = 4 * BLOCK

/** The dense operations on the device: each is one batch of kernels and products, and nothing waits for it. */
export class CudnnDenseKernels extends CudnnLayerKernels implements DenseKernels<CudnnTensor> {
  /** Where it is not finite, updates change nothing. */
  #guard: CudnnTensor | undefined

  linear(operands: KernelOperands<'linear'>, { rows, inputs, outputs }: LinearSizes): CudnnTensor {
    const { memory, kernels, session, arithmetic } = this.executor
    return this.batch(operands, (on) => {
      const y = memory.allocate(rows * outputs)
      kernels.each('broadcast_rows', rows * outputs, y, on.bias, rows * outputs, outputs)
      const x = { buffer: on.input, columns: inputs }
      const weights = { buffer: on.kernel, columns: outputs }
      appendMatrixProduct(session, arithmetic, y, [rows, inputs, outputs], x, weights, 1)
      return () => memory.tensor(y, [...operands.input.shape.slice(0, -1), outputs])
    })
  }

  linearGradients(
    operands: KernelOperands<'linearGradients'>,
    { rows, inputs, outputs }: LinearSizes,
  ): LinearGradients {
    const { memory, kernels, session, arithmetic } = this.executor
    return this.batch(operands, (on, owned) => {
      const dx = memory.allocate(rows * inputs)
      const dkernel = memory.allocate(inputs * outputs)
      const dbias = memory.allocate(outputs)
      const ones = owned.own(memory.allocate(rows))
      const dy = { buffer: on.outputGradient, columns: outputs }
      const weights = { buffer: on.kernel, columns: outputs, transposed: true }
      appendMatrixProduct(session, arithmetic, dx, [rows, outputs, inputs], dy, weights, 0)
      const x = { buffer: on.input, columns: inputs, transposed: true }
      appendMatrixProduct(session, arithmetic, dkernel, [inputs, rows, outputs], x, dy, 0)
      kernels.each('fill', rows, ones, rows, 1)
      appendMatrixProduct(session, arithmetic, dbias, [1, rows, outputs], { buffer: ones, columns: rows }, dy, 0)
      return () => ({
        input: memory.tensor(dx, operands.input.shape),
        kernel: memory.tensor(dkernel, operands.kernel.shape),
        bias: memory.tensor(dbias, [outputs]),
      })
    })
  }

  /** Ids that are on the host; on the device a wrong one makes the result NaN. */
  readIds(ids: TensorLike): Int32Array | undefined {
    return isBackendTensor(ids) ? undefined : (ids.data as Int32Array)
  }

  embedding(operands: KernelOperands<'embedding'>, columns: number): CudnnTensor {
    const { memory, kernels } = this.executor
    const { table, ids } = operands
    const count = elementCount(ids.shape) * columns
    return this.batch(operands, (on) => {
      const rows = memory.allocate(count)
      kernels.each('embedding', count, rows, on.table, on.ids, count, columns, table.shape[0]!)
      return () => memory.tensor(rows, [...ids.shape, columns])
    })
  }

  embeddingGradient(
    operands: KernelOperands<'embeddingGradient'>,
    { vocabulary, columns }: { readonly vocabulary: number; readonly columns: number },
  ): CudnnTensor {
    const { memory, kernels } = this.executor
    const count = elementCount(operands.ids.shape)
    return this.batch(operands, (on, owned) => {
      const table = memory.allocate(vocabulary * columns)
      const order = this.#sortedById(on.ids, count, vocabulary, owned)
      kernels.blocks(
        'embedding_gradient',
        vocabulary,
        ...[table, on.ids, order, on.outputGradient, count, columns, vocabulary],
      )
      return () => memory.tensor(table, [vocabulary, columns])
    })
  }

  /** The positions of `ids` sorted by id, those of one id in their order: a radix sort by digits of BLOCK values. */
  #sortedById(ids: DeviceBuffer, count: number, vocabulary: number, owned: PassBuffers): DeviceBuffer {
    const { kernels, session } = this.executor
    const blocks = Math.ceil(count / BLOCK)
    const positions = () => owned.own(new DeviceBuffer(session, count * Int32Array.BYTES_PER_ELEMENT))
    const counts = owned.own(new DeviceBuffer(session, blocks * BLOCK * Int32Array.BYTES_PER_ELEMENT))
    let order: DeviceBuffer | null = null
    // The largest key is the vocabulary: ids outside of it.
    for (let place = 1; place <= vocabulary; place *= BLOCK) {
      const sorted = positions()
      kernels.blocks('digit_counts', blocks, counts, ids, order, count, vocabulary, place)
      kernels.blocks('digit_offsets', 1, counts, blocks)
      kernels.blocks('sort_by_digit', blocks, sorted, counts, ids, order, count, vocabulary, place)
      order = sorted
    }
    return order ?? positions()
  }

  softmaxCrossEntropy(
    operands: KernelOperands<'softmaxCrossEntropy'>,
    { rows, classes }: { readonly rows: number; readonly classes: number },
  ): SoftmaxCrossEntropyResult {
    const { memory, kernels, session } = this.executor
    return this.batch(operands, (on, owned) => {
      const gradient = memory.allocate(rows * classes)
      const loss = memory.allocate(1)
      const rowLosses = owned.own(new DeviceBuffer(session, rows * Float64Array.BYTES_PER_ELEMENT))
      const total = owned.own(new DeviceBuffer(session, Float64Array.BYTES_PER_ELEMENT))
      if (on.weights) kernels.blocks('sum', 1, total, on.weights, rows)
      else session.native.clear(session.handle, total.handle, 0, total.bytes)
      kernels.blocks(
        'softmax_cross_entropy',
        rows,
        ...[gradient, rowLosses, on.logits, on.labels, on.weights ?? null, total, rows, classes],
      )
      kernels.blocks('sum_losses', 1, loss, rowLosses, rows)
      return () => ({ loss: memory.tensor(loss, []), logitsGradient: memory.tensor(gradient, operands.logits.shape) })
    })
  }

  norm(tensors: readonly CudnnTensor[], maxNorm: number): CudnnTensor {
    const { memory, kernels, session } = this.executor
    return this.batch({}, (_, owned) => {
      const norm = memory.allocate(1)
      const most = session.info.multiProcessors * NORM_BLOCKS_PER_MULTIPROCESSOR
      const blocks = tensors.map(({ shape }) =>
        Math.min(Math.ceil(elementCount(shape) / ELEMENTS_PER_NORM_BLOCK), most),
      )
      const count = blocks.reduce((sum, number) => sum + number, 0)
      const partials = owned.own(new DeviceBuffer(session, count * Float64Array.BYTES_PER_ELEMENT))
      let first = 0
      for (const [index, { buffer, shape }] of tensors.entries()) {
        kernels.blocks('sum_of_squares', blocks[index]!, partials, buffer, elementCount(shape), first)
        first += blocks[index]!
      }
      kernels.blocks('norm_of_partials', 1, norm, partials, count)
      for (const { buffer, shape } of maxNorm === Number.POSITIVE_INFINITY ? [] : tensors) {
        const count = elementCount(shape)
        kernels.each('clip_by_norm', count, buffer, norm, count, maxNorm)
      }
      return () => memory.tensor(norm, [])
    })
  }

  assign(variable: CudnnTensor, source: TensorLike): void {
    const { session } = this.executor
    this.batch({ source }, (on) => {
      const { handle, bytes } = variable.buffer
      session.native.copy(session.handle, handle, 0, on.source.handle, 0, Math.min(bytes, on.source.bytes))
      return () => {}
    })
  }

  clip(tensors: readonly CudnnTensor[], limit: number): void {
    const { kernels } = this.executor
    this.batch({}, () => {
      for (const { buffer, shape } of tensors) {
        const count = elementCount(shape)
        kernels.each('clip_by_value', count, buffer, count, limit)
      }
      return () => {}
    })
  }

  update(update: OptimizerUpdate, written: readonly CudnnTensor[], source: TensorLike | undefined): void {
    const { kernels } = this.executor
    const { kernel, scalars } = launchOf(update)
    this.batch({ source, guard: this.#guard }, (on) => {
      const count = elementCount(written[0]!.shape)
      const buffers: KernelParameter[] = [...written.map(({ buffer }) => buffer), on.source ?? null]
      kernels.each(kernel, count, ...buffers, count, ...scalars, on.guard ?? null)
      return () => {}
    })
  }

  /** {@link TrainingSteps.whereFinite} */
  whereFinite(scalars: readonly BackendTensor[], updates: () => void): void {
    const action = 'guard updates'
    const { memory, kernels } = this.executor
    memory.life.check(action)
    for (const [index, scalar] of scalars.entries()) {
      checkTensor(action, `scalars[${index}]`, scalar, { dtype: memory.dtype, shape: [] })
    }
    const own = scalars.map((scalar, index) => ownTensor(memory, action, `scalars[${index}]`, scalar))
    const before = this.#guard
    const guards: CudnnTensor[] = []
    try {
      for (const scalar of own) {
        const guard = this.#guard
        if (guard === undefined) {
          this.#guard = scalar
          continue
        }
        this.#guard = this.batch({ guard, scalar }, (on) => {
          const both = memory.allocate(1)
          kernels.blocks('both_finite', 1, both, on.guard, on.scalar)
          return () => memory.tensor(both, [])
        })
        guards.push(this.#guard)
      }
      updates()
    } finally {
      this.#guard = before
      for (const guard of guards) guard.dispose()
    }
  }
}
