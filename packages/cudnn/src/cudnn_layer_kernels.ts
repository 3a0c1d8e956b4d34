import {
  ACTIVATIONS,
  type ActivationName,
  type Attention,
  type AttentionGradients,
  ELEMENT_LOSSES,
  type ElementLoss,
  type ElementLossResult,
  type LayerNormGradients,
  POOLINGS,
  type TensorLike,
} from '@cudnn-rnn/backend'
import { elementCount } from '@cudnn-rnn/canonical'
import type {
  ColumnBlock,
  CompletePool,
  DropoutMask,
  KernelOperands,
  LayerKernels,
  RowSizes,
  SequenceSizes,
} from '@cudnn-rnn/executor-kit'
import type { CudnnExecutor } from './cudnn_executor.js'
import type { CudnnTensor } from './cudnn_tensor.js'
import { DeviceBuffer } from './device_buffer.js'
import { appendMatrixProduct } from './matrix_products.js'
import { PassBuffers } from './pass_buffers.js'

/** The operations of layers on the device: each is one batch of kernels, and nothing waits for it. */
export class CudnnLayerKernels implements LayerKernels<CudnnTensor> {
  protected readonly executor: CudnnExecutor

  constructor(executor: CudnnExecutor) {
    this.executor = executor
  }

  activate(operands: KernelOperands<'activate'>, activation: ActivationName, { rows, columns }: RowSizes): CudnnTensor {
    const { kernels } = this.executor
    return this.#result(operands, operands.input.shape, (y, on) => {
      if (activation === 'softmax') kernels.blocks('softmax_rows', rows, y, on.input, columns)
      else kernels.each('activate', rows * columns, y, on.input, rows * columns, ACTIVATIONS.indexOf(activation))
    })
  }

  activationGradient(
    operands: KernelOperands<'activationGradient'>,
    activation: ActivationName,
    { rows, columns }: RowSizes,
  ): CudnnTensor {
    const { kernels } = this.executor
    const count = rows * columns
    return this.#result(operands, operands.output.shape, (dx, { output: y, outputGradient: dy }) => {
      if (activation === 'softmax') kernels.blocks('softmax_rows_gradient', rows, dx, y, dy, columns)
      else kernels.each('activation_gradient', count, dx, y, dy, count, ACTIVATIONS.indexOf(activation))
    })
  }

  dropout(operands: KernelOperands<'dropout'>, mask: DropoutMask): CudnnTensor {
    const { kernels } = this.executor
    const count = elementCount(operands.input.shape)
    const { seedLow, seedHigh, threshold, kept, drawLow, drawHigh } = mask
    return this.#result(operands, operands.input.shape, (y, on) => {
      kernels.each('dropout', count, y, on.input, count, seedLow, seedHigh, threshold, kept, drawLow, drawHigh)
    })
  }

  layerNorm(operands: KernelOperands<'layerNorm'>, { rows, columns }: RowSizes, epsilon: number): CudnnTensor {
    const { kernels } = this.executor
    return this.#result(operands, operands.input.shape, (y, on) => {
      kernels.blocks('layer_norm', rows, y, on.input, on.gamma, on.beta, columns, epsilon)
    })
  }

  layerNormGradients(
    operands: KernelOperands<'layerNormGradients'>,
    { rows, columns }: RowSizes,
    epsilon: number,
  ): LayerNormGradients {
    const { memory, kernels, session, arithmetic } = this.executor
    return this.batch(operands, (on, owned) => {
      const dx = memory.allocate(rows * columns)
      const [dgamma, dbeta] = [memory.allocate(columns), memory.allocate(columns)]
      const [dgammaRows, ones] = [owned.own(memory.allocate(rows * columns)), owned.own(memory.allocate(rows))]
      const dy = on.outputGradient
      kernels.blocks('layer_norm_gradient', rows, dx, dgammaRows, on.input, on.gamma, dy, columns, epsilon)
      kernels.each('fill', rows, ones, rows, 1)
      const row = { buffer: ones, columns: rows }
      const sizes = [1, rows, columns] as const
      appendMatrixProduct(session, arithmetic, dgamma, sizes, row, { buffer: dgammaRows, columns }, 0)
      appendMatrixProduct(session, arithmetic, dbeta, sizes, row, { buffer: dy, columns }, 0)
      return () => ({
        input: memory.tensor(dx, operands.input.shape),
        gamma: memory.tensor(dgamma, [columns]),
        beta: memory.tensor(dbeta, [columns]),
      })
    })
  }

  concat(inputs: readonly TensorLike[], shape: readonly number[], { rows, columns }: RowSizes): CudnnTensor {
    const { kernels } = this.executor
    const operands = Object.fromEntries(inputs.map((input, index) => [index, input]))
    return this.#result(operands, shape, (y, on) => {
      let begin = 0
      for (const [index, input] of inputs.entries()) {
        const width = input.shape.at(-1)!
        const count = rows * width
        kernels.each('copy_columns', count, y, on[index]!, count, width, columns, begin, width, 0)
        begin += width
      }
    })
  }

  columns(operands: KernelOperands<'columns'>, { begin, columns, rows }: ColumnBlock, width: number): CudnnTensor {
    const { kernels } = this.executor
    const count = rows * width
    return this.#result(operands, [...operands.input.shape.slice(0, -1), width], (y, on) => {
      kernels.each('copy_columns', count, y, on.input, count, width, width, 0, columns, begin)
    })
  }

  reverseSequence(operands: KernelOperands<'reverseSequence'>, { time, batch, columns }: SequenceSizes): CudnnTensor {
    const { kernels } = this.executor
    const count = time * batch * columns
    return this.#result(operands, operands.input.shape, (y, on) => {
      kernels.each('reverse_sequence', count, y, on.input, on.lengths ?? null, count, time, batch, columns)
    })
  }

  poolSequence(
    operands: KernelOperands<'poolSequence'>,
    { time, batch, columns }: SequenceSizes,
    { pooling, reversedFrom }: CompletePool,
  ): CudnnTensor {
    const { kernels } = this.executor
    const count = batch * columns
    return this.#result(operands, [batch, columns], (y, on) => {
      const numbers = [count, time, columns, POOLINGS.indexOf(pooling), reversedFrom]
      kernels.each('pool_sequence', count, y, on.input, on.lengths ?? null, ...numbers)
    })
  }

  poolSequenceGradient(
    operands: KernelOperands<'poolSequenceGradient'>,
    { time, batch, columns }: SequenceSizes,
    { pooling, reversedFrom }: CompletePool,
  ): CudnnTensor {
    const { kernels } = this.executor
    const count = batch * columns
    return this.#result(operands, operands.input.shape, (dx, on) => {
      const numbers = [count, time, columns, POOLINGS.indexOf(pooling), reversedFrom]
      kernels.each(
        'pool_sequence_gradient',
        count,
        ...[dx, on.input, on.lengths ?? null, on.outputGradient, ...numbers],
      )
    })
  }

  attend(operands: KernelOperands<'attend'>, { time, batch, columns }: SequenceSizes): Attention {
    const { memory, kernels } = this.executor
    return this.batch(operands, (on) => {
      const output = memory.allocate(batch * columns)
      const weights = memory.allocate(time * batch)
      const lengths = on.lengths ?? null
      const count = batch * columns
      kernels.blocks('attention_weights', batch, weights, on.scores, lengths, time, batch)
      kernels.each('attend', count, output, on.input, weights, lengths, count, time, batch, columns)
      return () => ({
        output: memory.tensor(output, [batch, columns]),
        weights: memory.tensor(weights, operands.scores.shape),
      })
    })
  }

  attendGradients(
    operands: KernelOperands<'attendGradients'>,
    { time, batch, columns }: SequenceSizes,
  ): AttentionGradients {
    const { memory, kernels } = this.executor
    return this.batch(operands, ({ input: x, weights, outputGradient: dy }, owned) => {
      const count = time * batch * columns
      const dx = memory.allocate(count)
      const dscores = memory.allocate(time * batch)
      const dweights = owned.own(memory.allocate(time * batch))
      kernels.each('attention_input_gradient', count, dx, weights, dy, count, batch, columns)
      kernels.blocks('attention_weight_gradient', time * batch, dweights, x, dy, batch, columns)
      kernels.blocks('attention_score_gradient', batch, dscores, weights, dweights, time, batch)
      return () => ({
        input: memory.tensor(dx, operands.input.shape),
        scores: memory.tensor(dscores, operands.weights.shape),
      })
    })
  }

  elementLoss(
    operands: KernelOperands<'elementLoss'>,
    rule: ElementLoss,
    { rows, columns }: RowSizes,
  ): ElementLossResult {
    const { memory, kernels, session } = this.executor
    return this.batch(operands, (on, owned) => {
      const gradient = memory.allocate(rows * columns)
      const loss = memory.allocate(1)
      const rowLosses = owned.own(new DeviceBuffer(session, rows * Float64Array.BYTES_PER_ELEMENT))
      const total = owned.own(new DeviceBuffer(session, Float64Array.BYTES_PER_ELEMENT))
      if (on.weights) kernels.blocks('sum', 1, total, on.weights, rows)
      else session.native.clear(session.handle, total.handle, 0, total.bytes)
      kernels.blocks(
        'element_loss',
        rows,
        ...[gradient, rowLosses, on.predictions, on.targets, on.weights ?? null, total],
        ...[rows, columns, ELEMENT_LOSSES.indexOf(rule)],
      )
      kernels.blocks('sum_losses', 1, loss, rowLosses, rows)
      return () => ({ loss: memory.tensor(loss, []), gradient: memory.tensor(gradient, operands.predictions.shape) })
    })
  }

  /** One batch that fills one new tensor. */
  #result<Operands extends Readonly<Record<string, TensorLike | undefined>>>(
    operands: Operands,
    shape: readonly number[],
    append: (result: DeviceBuffer, on: OnDevice<Operands>) => void,
  ): CudnnTensor {
    const { memory } = this.executor
    return this.batch(operands, (on) => {
      const result = memory.allocate(elementCount(shape))
      append(result, on)
      return () => memory.tensor(result, shape)
    })
  }

  /**
   * Puts one batch together: operands on the device, then what `append` appends; what that returns makes the tensors,
   * after the batch was queued.
   */
  protected batch<Operands extends Readonly<Record<string, TensorLike | undefined>>, Result>(
    operands: Operands,
    append: (on: OnDevice<Operands>, owned: PassBuffers) => () => Result,
  ): Result {
    const { memory, session } = this.executor
    const owned = new PassBuffers()
    let finish: (() => Result) | undefined
    try {
      session.post(() => {
        const on: Record<string, DeviceBuffer | undefined> = {}
        for (const [name, tensor] of Object.entries(operands)) {
          on[name] = tensor && owned.own(memory.operand(tensor))
        }
        finish = append(on as never, owned)
      })
    } finally {
      owned.release()
    }
    return finish!()
  }
}

/** The operands of a batch in device memory. */
type OnDevice<Operands extends Readonly<Record<string, TensorLike | undefined>>> = {
  readonly [Name in keyof Operands]: Operands[Name] extends TensorLike ? DeviceBuffer : DeviceBuffer | undefined
}
