import { elementCount } from '@cudnn-rnn/canonical'
import {
  ACTIVATIONS,
  ELEMENT_LOSSES,
  type KernelNumbers,
  type KernelOperands,
  POOLINGS,
  type RowKernels,
  type RowName,
} from '@cudnn-rnn/ops/executor'
import type { KernelFields } from '../device/command_list.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import type { CudnnTensor } from '../device/cudnn_tensor.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { BLOCK, launchEach } from '../device/device_kernels.js'
import type { KernelName } from '../sys/commands.js'
import { multiply } from './matrix_products.js'
import { Operation } from './operation.js'

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
    const operation = this.begin('activate')
    const x = operation.operand(input)
    const count = rows * columns
    const y = this.#allocate(operation, count)
    // A row is one block, so its maximum and sum are reduced in shared memory. The number of rows is the number of
    // blocks.
    if (activation === 'softmax') operation.list.launch('softmax_rows', rows, BLOCK, { y, x, columns })
    else if (Number.isFinite(maximum)) this.#each(operation, 'bounded_relu', count, { y, x, count, maximum })
    else this.#each(operation, 'activate', count, { y, x, count, activation: ACTIVATIONS.indexOf(activation) })
    return this.#result(operation, y, input.shape)
  }

  /** dx [N,E] = dy ⊙ φ'(x), computed from y = φ(x), so x need not be kept. */
  activationGradient(
    [output, outputGradient]: KernelOperands<'activationGradient'>,
    { activation, maximum, rows, columns }: KernelNumbers<'activationGradient'>,
  ): CudnnTensor {
    const operation = this.begin('run the gradient of an activation')
    const y = operation.operand(output)
    const dy = operation.operand(outputGradient)
    const count = rows * columns
    const dx = this.#allocate(operation, count)
    if (activation === 'softmax') operation.list.launch('softmax_rows_gradient', rows, BLOCK, { dx, y, dy, columns })
    // φ' of a bounded relu is 0 at the bound, as in TensorFlow's relu6: the gradient there must not pass.
    else if (Number.isFinite(maximum)) {
      this.#each(operation, 'bounded_relu_gradient', count, { dx, y, dy, count, maximum })
    } else {
      const fields = { dx, y, dy, count, activation: ACTIVATIONS.indexOf(activation) }
      this.#each(operation, 'activation_gradient', count, fields)
    }
    return this.#result(operation, dx, output.shape)
  }

  /** y = x ⊙ mask; the mask is a function of seed, draw and element (Philox), so the backward draws it again. */
  dropout([input]: KernelOperands<'dropout'>, mask: KernelNumbers<'dropout'>): CudnnTensor {
    const operation = this.begin('run dropout')
    const x = operation.operand(input)
    const count = elementCount(input.shape)
    const y = this.#allocate(operation, count)
    const { seedLow, seedHigh, threshold, kept, drawLow, drawHigh } = mask
    this.#each(operation, 'dropout', count, { y, x, count, seedLow, seedHigh, threshold, kept, drawLow, drawHigh })
    return this.#result(operation, y, input.shape)
  }

  /** y [N,E] = γ ⊙ (x - μ)/√(σ² + ε) + β over each row, with the biased variance (Ba, Kiros and Hinton 2016). */
  layerNorm(
    operands: KernelOperands<'layerNorm'>,
    { rows, columns, epsilon }: KernelNumbers<'layerNorm'>,
  ): CudnnTensor {
    const operation = this.begin('normalize a layer')
    const [x, gamma, beta] = operation.operands(operands)
    const y = this.#allocate(operation, rows * columns)
    operation.list.launch('layer_norm', rows, BLOCK, { y, x, gamma, beta, columns, epsilon })
    return this.#result(operation, y, operands[0].shape)
  }

  /** dx [N,E], dγ and dβ [E]. Mean and variance are computed again from x. */
  layerNormGradients(
    operands: KernelOperands<'layerNormGradients'>,
    { rows, columns, epsilon }: KernelNumbers<'layerNormGradients'>,
  ): KernelResults<'layerNormGradients'> {
    const { memory, arithmetic } = this.executor
    const operation = this.begin('run the gradients of layer normalization')
    const { list } = operation
    const [x, gamma, dy] = operation.operands(operands)
    const dx = this.#allocate(operation, rows * columns)
    const dgamma = this.#allocate(operation, columns)
    const dbeta = this.#allocate(operation, columns)
    // dy ⊙ x̂ for each row, summed over rows by the product below.
    const dgammaRows = operation.own(this.#allocate(operation, rows * columns))
    // dgamma and dbeta are sums over rows: products with a row of ones.
    const ones = operation.own(this.#allocate(operation, rows))
    list.launch('layer_norm_gradient', rows, BLOCK, { dx, dgammaRows, x, gamma, dy, columns, epsilon })
    this.#each(operation, 'fill', rows, { x: ones, count: rows, value: 1 })
    const row = { buffer: ones, columns: rows }
    multiply(list, arithmetic, dgamma, [1, rows, columns], row, { buffer: dgammaRows, columns }, 0)
    multiply(list, arithmetic, dbeta, [1, rows, columns], row, { buffer: dy, columns }, 0)
    operation.post()
    return {
      input: memory.tensor(dx, operands[0].shape),
      gamma: memory.tensor(dgamma, [columns]),
      beta: memory.tensor(dbeta, [columns]),
    }
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
    const operation = this.begin(action)
    const [x, lengths] = operation.operands(operands)
    const count = time * batch * columns
    const y = this.#allocate(operation, count)
    const fields = { y, x, lengths, count, time, batch, columns, reverses: Number(reverses) }
    this.#each(operation, 'reverse_sequence', count, fields)
    return this.#result(operation, y, operands[0].shape)
  }

  /**
   * y [B,E]: last, mean or maximum over the steps of each row. Columns from `reversedFrom` on belong to a backward
   * direction, whose last step is step 0.
   */
  poolSequence(
    operands: KernelOperands<'poolSequence'>,
    { time, batch, columns, pooling: rule, reversedFrom }: KernelNumbers<'poolSequence'>,
  ): CudnnTensor {
    const operation = this.begin('pool a sequence')
    const [x, lengths] = operation.operands(operands)
    const count = batch * columns
    const y = this.#allocate(operation, count)
    const fields = { y, x, lengths, count, time, columns, pooling: POOLINGS.indexOf(rule), reversedFrom }
    this.#each(operation, 'pool_sequence', count, fields)
    return this.#result(operation, y, [batch, columns])
  }

  /** dx [T,B,E]; the kernel writes every element, so dx is not cleared before. */
  poolSequenceGradient(
    operands: KernelOperands<'poolSequenceGradient'>,
    { time, batch, columns, pooling: rule, reversedFrom }: KernelNumbers<'poolSequenceGradient'>,
  ): CudnnTensor {
    const operation = this.begin('run the gradient of pooling')
    const [x, lengths, dy] = operation.operands(operands)
    const count = batch * columns
    const dx = this.#allocate(operation, elementCount(operands[0].shape))
    const fields = { dx, x, lengths, dy, count, time, columns, pooling: POOLINGS.indexOf(rule), reversedFrom }
    this.#each(operation, 'pool_sequence_gradient', count, fields)
    return this.#result(operation, dx, operands[0].shape)
  }

  /**
   * weights [T,B] = softmax of scores [T,B] along T, within each row's length; output [B,E] = Σ_t weights·x. Weights past
   * a row's length are 0, so x there is not read and may be NaN.
   */
  attend(
    operands: KernelOperands<'attend'>,
    { time, batch, columns }: KernelNumbers<'attend'>,
  ): KernelResults<'attend'> {
    const { memory } = this.executor
    const operation = this.begin('attend')
    const [x, scores, lengths] = operation.operands(operands)
    const count = batch * columns
    const output = this.#allocate(operation, count)
    const weights = this.#allocate(operation, time * batch)
    operation.list.launch('attention_weights', batch, BLOCK, { weights, scores, lengths, time, batch })
    this.#each(operation, 'attend', count, { output, x, weights, lengths, count, time, batch, columns })
    operation.post()
    return {
      output: memory.tensor(output, [batch, columns]),
      weights: memory.tensor(weights, operands[1].shape),
    }
  }

  /**
   * dx [T,B,E] = weights·dy, dweights [T,B] = x·dy over E (one block for each (t, b)), and
   * dscores = weights ⊙ (dweights - Σ_t weights·dweights), the gradient of softmax.
   */
  attendGradients(
    operands: KernelOperands<'attendGradients'>,
    sizes: KernelNumbers<'attendGradients'>,
  ): KernelResults<'attendGradients'> {
    const { time, batch, columns } = sizes
    const { memory } = this.executor
    const operation = this.begin('run the gradients of attention')
    const { list } = operation
    const [x, weights, dy] = operation.operands(operands)
    const count = time * batch * columns
    const dx = this.#allocate(operation, count)
    const dscores = this.#allocate(operation, time * batch)
    const dweights = operation.own(this.#allocate(operation, time * batch))
    this.#each(operation, 'attention_input_gradient', count, { dx, weights, dy, count, batch, columns })
    list.launch('attention_weight_gradient', time * batch, BLOCK, { dweights, x, weights, dy, batch, columns })
    list.launch('attention_score_gradient', batch, BLOCK, { dscores, weights, dweights, time, batch })
    operation.post()
    return {
      input: memory.tensor(dx, operands[0].shape),
      scores: memory.tensor(dscores, operands[1].shape),
    }
  }

  /** open [B,U]: how far the gates of a `PhasedLSTMCell` are open at the times [B,1]. */
  phasedGate(operands: KernelOperands<'phasedGate'>, { batch, units, leak }: KernelNumbers<'phasedGate'>): CudnnTensor {
    const operation = this.begin('open phased gates')
    const [times, period, phase, ratioOn] = operation.operands(operands)
    const count = batch * units
    const open = this.#allocate(operation, count)
    this.#each(operation, 'phased_gate', count, { open, times, period, phase, ratioOn, count, units, leak })
    return this.#result(operation, open, [batch, units])
  }

  /** One thread for each unit adds up the batch, and one for each row the units: sums have a fixed order. */
  phasedGateGradients(
    operands: KernelOperands<'phasedGateGradients'>,
    { batch, units, leak }: KernelNumbers<'phasedGateGradients'>,
  ): KernelResults<'phasedGateGradients'> {
    const { memory } = this.executor
    const operation = this.begin('run the gradients of phased gates')
    const [times, period, phase, ratioOn, dopen] = operation.operands(operands)
    const shared = { times, period, phase, ratioOn, dopen, batch, units, leak }
    const [dperiod, dphase, dratioOn] = [units, units, units].map((count) => this.#allocate(operation, count))
    const dtimes = this.#allocate(operation, batch)
    this.#each(operation, 'phased_gate_gradients', units, { dperiod, dphase, dratioOn, ...shared })
    this.#each(operation, 'phased_gate_time_gradient', batch, { dtimes, ...shared })
    operation.post()
    return {
      times: memory.tensor(dtimes, [batch, 1]),
      period: memory.tensor(dperiod, [units]),
      phase: memory.tensor(dphase, [units]),
      ratioOn: memory.tensor(dratioOn, [units]),
    }
  }

  /** Mean loss over all elements, weighted by row, and its gradient with respect to the predictions. */
  elementLoss(
    operands: KernelOperands<'elementLoss'>,
    { loss: rule, rows, columns }: KernelNumbers<'elementLoss'>,
  ): KernelResults<'elementLoss'> {
    const { memory } = this.executor
    const operation = this.begin('compute a loss')
    const { list } = operation
    const [predictions, targets, weights] = operation.operands(operands)
    const gradient = this.#allocate(operation, rows * columns)
    const loss = this.#allocate(operation, 1)
    // float64: a sum of thousands of rows in float32 would lose digits. One block adds them in order, so the loss is
    // the same
    // bits in every run.
    const rowLosses = operation.own(list.allocate(rows * Float64Array.BYTES_PER_ELEMENT))
    const total = operation.own(list.allocate(Float64Array.BYTES_PER_ELEMENT))
    // Without weights the kernels divide by the number of rows; a total of 0 with weights gives a loss of 0.
    if (weights) list.launch('sum', 1, BLOCK, { total, x: weights, count: rows })
    else list.add('clear', { to: total, offset: 0, bytes: total.bytes })
    const values = { gradient, loss: rowLosses, predictions, targets, weights, total }
    list.launch('element_loss', rows, BLOCK, { ...values, rows, columns, rule: ELEMENT_LOSSES.indexOf(rule) })
    list.launch('sum_losses', 1, BLOCK, { loss, rows: rowLosses, count: rows })
    operation.post()
    return { loss: memory.tensor(loss, []), gradient: memory.tensor(gradient, operands[0].shape) }
  }

  protected begin(action: string): Operation {
    return new Operation(this.executor, action)
  }

  #allocate({ list }: Operation, elements: number): DeviceBuffer {
    return this.executor.memory.allocate(list, elements)
  }

  /** Launches a kernel with one thread for each element. */
  #each<Name extends KernelName>({ list }: Operation, name: Name, count: number, fields: KernelFields<Name>): void {
    launchEach(this.executor.session, list, name, count, fields)
  }

  /** Queues the operation and wraps its result; ownership of `buffer` passes to the tensor. */
  #result(operation: Operation, buffer: DeviceBuffer, shape: readonly number[]): CudnnTensor {
    operation.post()
    return this.executor.memory.tensor(buffer, shape)
  }
}
