import type { TensorLike } from '@cudnn-rnn/backend'
import { elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import type { KernelOperands } from '../dense_kernels.js'
import type { HostTensor } from '../host/host_tensor.js'
import type {
  ColumnBlock,
  CompleteActivation,
  CompletePool,
  DropoutMask,
  LayerKernels,
  RowSizes,
  SequenceSizes,
} from '../layer_kernels.js'
import type { ElementLoss } from '../operation_options.js'
import { ACTIVATIONS, ELEMENT_LOSSES, POOLINGS } from '../operation_options.js'
import type { Attention, AttentionGradients, ElementLossResult, LayerNormGradients } from '../operation_results.js'
import { LAYER_OPS, type LayerOpName } from './kernel_boundary.js'
import type { KernelExecutor } from './kernel_executor.js'

/** The operations of layers of the kernels: each is one operation. */
export class BoundaryLayerKernels implements LayerKernels<HostTensor> {
  protected readonly executor: KernelExecutor

  constructor(executor: KernelExecutor) {
    this.executor = executor
  }

  activate({ input }: KernelOperands<'activate'>, activation: CompleteActivation, sizes: RowSizes): HostTensor {
    const numbers = activationNumbers(activation, sizes)
    return this.#one('activate', input.shape, [input], numbers)
  }

  activationGradient(
    { output, outputGradient }: KernelOperands<'activationGradient'>,
    activation: CompleteActivation,
    sizes: RowSizes,
  ): HostTensor {
    const numbers = activationNumbers(activation, sizes)
    return this.#one('activationGradient', output.shape, [output, outputGradient], numbers)
  }

  multiply({ a, b }: KernelOperands<'multiply'>): HostTensor {
    return this.#one('multiply', a.shape, [a, b], [elementCount(a.shape)])
  }

  dropout({ input }: KernelOperands<'dropout'>, mask: DropoutMask): HostTensor {
    const { seedLow, seedHigh, drawLow, drawHigh, threshold, kept } = mask
    const numbers = [elementCount(input.shape), seedLow, seedHigh, drawLow, drawHigh, threshold, kept]
    return this.#one('dropout', input.shape, [input], numbers)
  }

  layerNorm({ input, gamma, beta }: KernelOperands<'layerNorm'>, sizes: RowSizes, epsilon: number): HostTensor {
    return this.#one('layerNorm', input.shape, [input, gamma, beta], [sizes.rows, sizes.columns, epsilon])
  }

  layerNormGradients(
    { input, gamma, outputGradient }: KernelOperands<'layerNormGradients'>,
    { rows, columns }: RowSizes,
    epsilon: number,
  ): LayerNormGradients {
    const shapes = [input.shape, [columns], [columns]]
    const numbers = [rows, columns, epsilon]
    const results = this.#run('layerNormGradients', shapes, [input, gamma, outputGradient], numbers)
    return { input: results[0], gamma: results[1], beta: results[2] }
  }

  concat(inputs: readonly TensorLike[], shape: readonly number[], { rows, columns }: RowSizes): HostTensor {
    const { memory } = this.executor
    const output = memory.allocate(rows * columns)
    let [begin, job] = [0, 0]
    for (const input of inputs) {
      const count = input.shape[input.shape.length - 1]
      job = this.#queue('copyColumns', [output], [input], [rows, count, columns, begin, count, 0])
      begin += count
    }
    return memory.result(shape, output, job)
  }

  columns({ input }: KernelOperands<'columns'>, { begin, columns, rows }: ColumnBlock, count: number): HostTensor {
    const shape = [...input.shape.slice(0, -1), count]
    return this.#one('copyColumns', shape, [input], [rows, count, count, 0, columns, begin])
  }

  reverseSequence({ input, lengths }: KernelOperands<'reverseSequence'>, sizes: SequenceSizes): HostTensor {
    return this.#one('reverseSequence', input.shape, [input], sizesOf(sizes), lengths)
  }

  poolSequence(
    { input, lengths }: KernelOperands<'poolSequence'>,
    sizes: SequenceSizes,
    pool: CompletePool,
  ): HostTensor {
    const shape = [sizes.batch, sizes.columns]
    return this.#one('poolSequence', shape, [input], [...sizesOf(sizes), ...numbersOf(pool)], lengths)
  }

  poolSequenceGradient(
    { input, lengths, outputGradient }: KernelOperands<'poolSequenceGradient'>,
    sizes: SequenceSizes,
    pool: CompletePool,
  ): HostTensor {
    const numbers = [...sizesOf(sizes), ...numbersOf(pool)]
    return this.#one('poolSequenceGradient', input.shape, [input, outputGradient], numbers, lengths)
  }

  attend({ input, scores, lengths }: KernelOperands<'attend'>, sizes: SequenceSizes): Attention {
    const shapes = [[sizes.batch, sizes.columns], scores.shape]
    const [output, weights] = this.#run('attend', shapes, [input, scores], sizesOf(sizes), lengths)
    return { output: output, weights: weights }
  }

  attendGradients(
    { input, weights, outputGradient }: KernelOperands<'attendGradients'>,
    sizes: SequenceSizes,
  ): AttentionGradients {
    const shapes = [input.shape, weights.shape]
    const [dInput, dScores] = this.#run('attendGradients', shapes, [input, weights, outputGradient], sizesOf(sizes))
    return { input: dInput, scores: dScores }
  }

  elementLoss(
    { predictions, targets, weights }: KernelOperands<'elementLoss'>,
    loss: ElementLoss,
    { rows, columns }: RowSizes,
  ): ElementLossResult {
    const numbers = [ELEMENT_LOSSES.indexOf(loss), rows, columns]
    const [value, gradient] = this.#run(
      'elementLoss',
      [[], predictions.shape],
      [predictions, targets, weights],
      numbers,
    )
    return { loss: value, gradient: gradient }
  }

  #one(
    op: LayerOpName,
    shape: readonly number[],
    read: readonly (TensorLike | undefined)[],
    numbers: readonly number[],
    lengths?: TensorLike,
  ): HostTensor {
    return this.#run(op, [shape], read, numbers, lengths)[0]
  }

  /** Queues an operation that writes new tensors of `shapes`. */
  #run(
    op: LayerOpName,
    shapes: readonly (readonly number[])[],
    read: readonly (TensorLike | undefined)[],
    numbers: readonly number[],
    lengths?: TensorLike,
  ): HostTensor[] {
    const { memory } = this.executor
    const results = shapes.map((shape) => memory.allocate(elementCount(shape)))
    const job = this.#queue(op, results, read, numbers, lengths)
    return shapes.map((shape, index) => memory.result(shape, results[index], job))
  }

  #queue(
    op: LayerOpName,
    written: readonly FloatArray[],
    read: readonly (TensorLike | undefined)[],
    numbers: readonly number[],
    lengths?: TensorLike,
  ): number {
    const { memory, operations } = this.executor
    const counts = [
      ...written.map(({ length }) => length),
      ...read.map((tensor) => (tensor === undefined ? 0 : elementCount(tensor.shape))),
    ]
    return operations.layer({
      op: LAYER_OPS.indexOf(op),
      operands: [...written, ...read.map((tensor) => (tensor === undefined ? null : memory.floats(tensor)))],
      results: written.length,
      counts: Float64Array.from(counts),
      lengths: lengths === undefined ? null : (memory.elements(lengths) as Int32Array),
      numbers: Float64Array.from(numbers),
    })
  }
}

function activationNumbers({ activation, maximum }: CompleteActivation, { rows, columns }: RowSizes): number[] {
  return [ACTIVATIONS.indexOf(activation), rows, columns, maximum]
}

function sizesOf({ time, batch, columns }: SequenceSizes): number[] {
  return [time, batch, columns]
}

function numbersOf({ pooling, reversedFrom }: CompletePool): number[] {
  return [POOLINGS.indexOf(pooling), reversedFrom]
}
