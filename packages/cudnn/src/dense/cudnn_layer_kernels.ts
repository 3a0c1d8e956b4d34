import { elementCount } from '@cudnn-rnn/canonical'
import type { TensorLike } from '@cudnn-rnn/ops'
import {
  ACTIVATIONS,
  ELEMENT_LOSSES,
  type KernelNumbers,
  type KernelOperands,
  POOLINGS,
  type RowKernels,
  type RowName,
} from '@cudnn-rnn/ops/executor'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import type { CudnnTensor } from '../device/cudnn_tensor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { BLOCK } from '../device/device_kernels.js'
import { multiply } from './matrix_products.js'
import { type BuffersOf, computed, type Operation } from './operation.js'

/** The results of a kernel. */
export type KernelResults<Name extends RowName> = Awaited<ReturnType<NonNullable<RowKernels[Name]>>>

/** The operations of layers on the device: each is one segment of kernels, and nothing waits for it. */
export class CudnnLayerKernels {
  protected readonly executor: CudnnExecutor

  constructor(executor: CudnnExecutor) {
    this.executor = executor
  }

  /**
   * y [N,E] = φ(x); softmax along the last axis, one block of threads for each row. `maximum` bounds relu from above.
   */
  activate(
    [input]: KernelOperands<'activate'>,
    { activation, maximum, rows, columns }: KernelNumbers<'activate'>,
  ): CudnnTensor {
    const count = rows * columns
    return this.one('activate', [input], input.shape, (operation, [x], y) => {
      // A row is one block, so its maximum and sum are reduced in shared memory. The number of rows is the number of
      // blocks.
      if (activation === 'softmax') operation.list.launch('softmax_rows', rows, BLOCK, { y, x, columns })
      else if (Number.isFinite(maximum)) operation.each('bounded_relu', count, { y, x, count, maximum })
      else operation.each('activate', count, { y, x, count, activation: ACTIVATIONS.indexOf(activation) })
    })
  }

  /** dx [N,E] = dy ⊙ φ'(x), computed from y = φ(x), so x need not be kept. */
  activationGradient(
    operands: KernelOperands<'activationGradient'>,
    { activation, maximum, rows, columns }: KernelNumbers<'activationGradient'>,
  ): CudnnTensor {
    const count = rows * columns
    return this.one('run the gradient of an activation', operands, operands[0].shape, (operation, [y, dy], dx) => {
      const fields = { dx, y, dy, count }
      if (activation === 'softmax') operation.list.launch('softmax_rows_gradient', rows, BLOCK, { dx, y, dy, columns })
      // φ' of a bounded relu is 0 at the bound, as in TensorFlow's relu6: the gradient there must not pass.
      else if (Number.isFinite(maximum)) operation.each('bounded_relu_gradient', count, { ...fields, maximum })
      else operation.each('activation_gradient', count, { ...fields, activation: ACTIVATIONS.indexOf(activation) })
    })
  }

  /** y = x ⊙ mask; the mask is a function of seed, draw and element (Philox), so the backward draws it again. */
  dropout(
    [input]: KernelOperands<'dropout'>,
    { seedLow, seedHigh, threshold, kept, drawLow, drawHigh }: KernelNumbers<'dropout'>,
  ): CudnnTensor {
    const count = elementCount(input.shape)
    return this.one('run dropout', [input], input.shape, (operation, [x], y) => {
      const fields = { y, x, count, seedLow, seedHigh, threshold, kept, drawLow, drawHigh }
      operation.each('dropout', count, fields)
    })
  }

  /** y [N,E] = γ ⊙ (x - μ)/√(σ² + ε) + β over each row, with the biased variance (Ba, Kiros and Hinton 2016). */
  layerNorm(
    operands: KernelOperands<'layerNorm'>,
    { rows, columns, epsilon }: KernelNumbers<'layerNorm'>,
  ): CudnnTensor {
    return this.one('normalize a layer', operands, operands[0].shape, ({ list }, [x, gamma, beta], y) =>
      list.launch('layer_norm', rows, BLOCK, { y, x, gamma, beta, columns, epsilon }),
    )
  }

  /** dx [N,E], dγ and dβ [E]. Mean and variance are computed again from x. */
  layerNormGradients(
    operands: KernelOperands<'layerNormGradients'>,
    { rows, columns, epsilon }: KernelNumbers<'layerNormGradients'>,
  ): KernelResults<'layerNormGradients'> {
    const { arithmetic } = this.executor
    const action = 'run the gradients of layer normalization'
    const shapes = { input: operands[0].shape, gamma: [columns], beta: [columns] }
    return computed(this.executor, action, operands, shapes, (operation, [x, gamma, dy], results) => {
      const { list } = operation
      // dy ⊙ x̂ for each row, summed over rows by the product below.
      const dgammaRows = operation.scratch(rows * columns)
      // dgamma and dbeta are sums over rows: products with a row of ones.
      const ones = operation.scratch(rows)
      const fields = { dx: results.input, dgammaRows, x, gamma, dy, columns, epsilon }
      list.launch('layer_norm_gradient', rows, BLOCK, fields)
      operation.each('fill', rows, { x: ones, count: rows, value: 1 })
      const row = { buffer: ones, columns: rows }
      multiply(list, arithmetic, results.gamma, [1, rows, columns], row, { buffer: dgammaRows, columns }, 0)
      multiply(list, arithmetic, results.beta, [1, rows, columns], row, { buffer: dy, columns }, 0)
    })
  }

  /** y [T,B,E] = x, zeros past each row's length. The operation is its own gradient. */
  maskSequence(operands: KernelOperands<'maskSequence'>, sizes: KernelNumbers<'maskSequence'>): CudnnTensor {
    return this.#masked('mask a sequence', operands, sizes, false)
  }

  /**
   * y [T,B,E]: the steps of each row in reverse, within its length; zeros past it, where tf.reverse_sequence copies. The
   * operation is its own gradient.
   */
  reverseSequence(operands: KernelOperands<'reverseSequence'>, sizes: KernelNumbers<'reverseSequence'>): CudnnTensor {
    return this.#masked('reverse a sequence', operands, sizes, true)
  }

  #masked(
    action: string,
    operands: KernelOperands<'reverseSequence'>,
    { time, batch, columns }: KernelNumbers<'reverseSequence'>,
    reverses: boolean,
  ): CudnnTensor {
    const count = time * batch * columns
    return this.one(action, operands, operands[0].shape, (operation, [x, lengths], y) => {
      const fields = { y, x, lengths, count, time, batch, columns, reverses: Number(reverses) }
      operation.each('reverse_sequence', count, fields)
    })
  }

  /**
   * y [B,E]: last, mean or maximum over the steps of each row. Columns from `reversedFrom` on belong to a backward
   * direction, whose last step is step 0.
   */
  poolSequence(
    operands: KernelOperands<'poolSequence'>,
    { time, batch, columns, pooling: rule, reversedFrom }: KernelNumbers<'poolSequence'>,
  ): CudnnTensor {
    const count = batch * columns
    return this.one('pool a sequence', operands, [batch, columns], (operation, [x, lengths], y) => {
      const fields = { y, x, lengths, count, time, columns, pooling: POOLINGS.indexOf(rule), reversedFrom }
      operation.each('pool_sequence', count, fields)
    })
  }

  /** dx [T,B,E]; the kernel writes every element, so dx is not cleared before. */
  poolSequenceGradient(
    operands: KernelOperands<'poolSequenceGradient'>,
    { time, batch, columns, pooling: rule, reversedFrom }: KernelNumbers<'poolSequenceGradient'>,
  ): CudnnTensor {
    const count = batch * columns
    const [{ shape }] = operands
    return this.one('run the gradient of pooling', operands, shape, (operation, [x, lengths, dy], dx) => {
      const fields = { dx, x, lengths, dy, count, time, columns, pooling: POOLINGS.indexOf(rule), reversedFrom }
      operation.each('pool_sequence_gradient', count, fields)
    })
  }

  /**
   * weights [T,B] = softmax of scores [T,B] along T, within each row's length; output [B,E] = Σ_t weights·x. Weights past
   * a row's length are 0, so x there is not read and may be NaN.
   */
  attend(
    operands: KernelOperands<'attend'>,
    { time, batch, columns }: KernelNumbers<'attend'>,
  ): KernelResults<'attend'> {
    const count = batch * columns
    const shapes = { output: [batch, columns], weights: operands[1].shape }
    return computed(this.executor, 'attend', operands, shapes, (operation, [x, scores, lengths], results) => {
      operation.list.launch('attention_weights', batch, BLOCK, { ...results, scores, lengths, time, batch })
      operation.each('attend', count, { ...results, x, lengths, count, time, batch, columns })
    })
  }

  /**
   * dx [T,B,E] = weights·dy, dweights [T,B] = x·dy over E (one block for each (t, b)), and
   * dscores = weights ⊙ (dweights - Σ_t weights·dweights), the gradient of softmax.
   */
  attendGradients(
    operands: KernelOperands<'attendGradients'>,
    { time, batch, columns }: KernelNumbers<'attendGradients'>,
  ): KernelResults<'attendGradients'> {
    const action = 'run the gradients of attention'
    const count = time * batch * columns
    const shapes = { input: operands[0].shape, scores: operands[1].shape }
    return computed(this.executor, action, operands, shapes, (operation, [x, weights, dy], results) => {
      const { list } = operation
      const dweights = operation.scratch(time * batch)
      operation.each('attention_input_gradient', count, { dx: results.input, weights, dy, count, batch, columns })
      list.launch('attention_weight_gradient', time * batch, BLOCK, { dweights, x, weights, dy, batch, columns })
      const fields = { dscores: results.scores, weights, dweights, time, batch }
      list.launch('attention_score_gradient', batch, BLOCK, fields)
    })
  }

  /** open [B,U]: how far the gates of a `PhasedLSTMCell` are open at the times [B,1]. */
  phasedGate(operands: KernelOperands<'phasedGate'>, { batch, units, leak }: KernelNumbers<'phasedGate'>): CudnnTensor {
    const count = batch * units
    return this.one('open phased gates', operands, [batch, units], (operation, [times, period, phase, ratioOn], open) =>
      operation.each('phased_gate', count, { open, times, period, phase, ratioOn, count, units, leak }),
    )
  }

  /** One thread for each unit adds up the batch, and one for each row the units: sums have a fixed order. */
  phasedGateGradients(
    operands: KernelOperands<'phasedGateGradients'>,
    { batch, units, leak }: KernelNumbers<'phasedGateGradients'>,
  ): KernelResults<'phasedGateGradients'> {
    const action = 'run the gradients of phased gates'
    const shapes = { times: [batch, 1], period: [units], phase: [units], ratioOn: [units] }
    return computed(this.executor, action, operands, shapes, (operation, buffers, results) => {
      const [times, period, phase, ratioOn, dopen] = buffers
      const shared = { times, period, phase, ratioOn, dopen, batch, units, leak }
      const made = { dperiod: results.period, dphase: results.phase, dratioOn: results.ratioOn }
      operation.each('phased_gate_gradients', units, { ...made, ...shared })
      operation.each('phased_gate_time_gradient', batch, { dtimes: results.times, ...shared })
    })
  }

  /** Mean loss over all elements, weighted by row, and its gradient with respect to the predictions. */
  elementLoss(
    operands: KernelOperands<'elementLoss'>,
    { loss: rule, rows, columns }: KernelNumbers<'elementLoss'>,
  ): KernelResults<'elementLoss'> {
    const shapes = { loss: [], gradient: operands[0].shape }
    return computed(this.executor, 'compute a loss', operands, shapes, (operation, buffers, { loss, gradient }) => {
      const [predictions, targets, weights] = buffers
      const fields = { gradient, predictions, targets, weights, rows, columns, rule: ELEMENT_LOSSES.indexOf(rule) }
      addRowLosses(operation, rows, weights, loss, (sums) =>
        operation.list.launch('element_loss', rows, BLOCK, { ...fields, ...sums }),
      )
    })
  }

  /** {@link computed}, of one tensor. */
  protected one<const Tensors extends readonly (TensorLike | undefined)[]>(
    action: string,
    operands: Tensors,
    shape: readonly number[],
    launch: (operation: Operation, operands: BuffersOf<Tensors>, result: DeviceBuffer) => void,
  ): CudnnTensor {
    const fill = (operation: Operation, read: BuffersOf<Tensors>, { y }: { readonly y: DeviceBuffer }) =>
      launch(operation, read, y)
    return computed(this.executor, action, operands, { y: shape }, fill).y
  }
}

/**
 * Adds a mean of losses: `launch` adds the kernel of each row's, which divides by the total weight; without weights by the
 * number of rows. A total of 0 with weights gives a loss of 0.
 */
export function addRowLosses(
  operation: Operation,
  rows: number,
  weights: DeviceBuffer | undefined,
  loss: DeviceBuffer,
  launch: (sums: { readonly loss: DeviceBuffer; readonly total: DeviceBuffer }) => void,
): void {
  const { list } = operation
  // float64: a sum of thousands of rows in float32 would lose digits. One block adds them in order, so the loss is the same
  // bits in every run.
  const rowLosses = operation.own(list.allocate(rows * Float64Array.BYTES_PER_ELEMENT))
  const total = operation.own(list.allocate(Float64Array.BYTES_PER_ELEMENT))
  if (weights) list.launch('sum', 1, BLOCK, { total, x: weights, count: rows })
  else list.add('clear', { to: total, offset: 0, bytes: total.bytes })
  launch({ loss: rowLosses, total })
  list.launch('sum_losses', 1, BLOCK, { loss, rows: rowLosses, count: rows })
}
