import { ACTIVATIONS, ELEMENT_LOSSES, POOLINGS, type RowName, type TensorRowName } from '@cudnn-rnn/ops/executor'
import type { KernelFields } from '../device/command_list.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { BLOCK } from '../device/device_kernels.js'
import { multiply } from '../device/matrix_products.js'
import { launching, type Operation, type RowLaunch } from './operation.js'

/** Columns that a block of `column_sums` adds up: 32 bytes of a row, which a load takes at least. */
const COLUMNS_OF_BLOCK = 8
/** Up to so many ids each block of an embedding's gradient looks at all. */
const FEW_IDS = 4 * BLOCK

/** The operations of layers on the device: each is one segment of kernels and products. */
export const LAYER_LAUNCHES: { readonly [Name in Exclude<RowName, TensorRowName | 'ctcLoss'>]: RowLaunch<Name> } = {
  /** y [N,out] = x [N,in] · kernel [in,out] + bias [out]. */
  linear: launching('run linear', (operation, [x, kernel, bias], y, { rows, inputs, outputs }) => {
    const { list, executor } = operation
    const count = rows * outputs
    const factors = [
      { buffer: x, stride: inputs },
      { buffer: kernel, stride: outputs },
    ] as const
    // Bias first, then a product with beta = 1: one pass over y less than adding the bias afterwards.
    operation.each('broadcast_rows', count, { rows: y, bias, count, columns: outputs })
    multiply(list, executor.arithmetic, { buffer: y }, [rows, inputs, outputs], ...factors, 1)
  }),

  /**
   * dx [N,in] = dy·kernelᵀ, dkernel [in,out] = xᵀ·dy, dbias [out] = the column sums of dy. cuBLAS
   * reads the transposes by an option; nothing is copied.
   */
  linearGradients: launching(
    'run the gradients of linear',
    (operation, buffers, results, { rows, inputs, outputs }) => {
      const { list, executor } = operation
      const { arithmetic } = executor
      const x = { buffer: buffers[0], stride: inputs, transposed: true }
      const weights = { buffer: buffers[1], stride: outputs, transposed: true }
      const dy = { buffer: buffers[2], stride: outputs }
      multiply(list, arithmetic, { buffer: results.input }, [rows, outputs, inputs], dy, weights)
      multiply(list, arithmetic, { buffer: results.kernel }, [inputs, rows, outputs], x, dy)
      addUpRows(operation, results.bias, buffers[2], rows, outputs)
    },
  ),

  /** y [...,E] = table [V,E] at ids [...]. An id out of 0…V-1 gives a row of NaN: the kernel cannot throw. */
  embedding: launching('run embedding', (operation, [table, ids], y, { rows, columns, classes: vocabulary }) => {
    const count = rows * columns
    operation.each('embedding', count, { rows: y, table, ids, count, columns, vocabulary })
  }),

  /** dtable [V,E]: the sum of the rows of dy whose id is v, zeros for ids that do not occur. */
  embeddingGradient: launching('run the gradient of embedding', (operation, [ids, dy], table, sizes) => {
    const { rows: count, columns, classes: vocabulary } = sizes
    // Each row of the table is summed by one block in the order of the ids: no atomics, so the gradient is the same bits
    // in every run. Blocks find their ids sorted, or look at all of them, which is faster than a sort of a few.
    const order = count > FEW_IDS ? sortById(operation, ids, count, vocabulary) : undefined
    const fields = { table, ids, order, rows: dy, count, columns, vocabulary }
    operation.list.launch('embedding_gradient', vocabulary, BLOCK, fields)
  }),

  /**
   * Mean of -ln softmax(logits [N,K])[label], weighted by row, and its gradient (softmax - onehot)·w/Σw. One block for
   * each row.
   */
  softmaxCrossEntropy: launching('run softmax cross-entropy', (operation, buffers, results, { rows, classes }) => {
    const [logits, labels, weights] = buffers
    const fields = { gradient: results.logitsGradient, logits, labels, weights }
    addRowLosses(operation, rows, weights, results.loss, (sums) =>
      operation.list.launch('softmax_cross_entropy', rows, BLOCK, { rows, classes, ...fields, ...sums }),
    )
  }),

  /**
   * y [N,E] = φ(x); softmax along the last axis, one block of threads for each row. `maximum` bounds relu from above.
   */
  activate: launching('activate', (operation, [x], y, { activation, maximum, rows, columns }) => {
    const count = rows * columns
    // A row is one block, so its maximum and sum are reduced in shared memory. The number of rows is the number of
    // blocks.
    if (activation === 'softmax') operation.list.launch('softmax_rows', rows, BLOCK, { y, x, columns })
    else if (Number.isFinite(maximum)) operation.each('bounded_relu', count, { y, x, count, maximum })
    else operation.each('activate', count, { y, x, count, activation: ACTIVATIONS.indexOf(activation) })
  }),

  /** dx [N,E] = dy ⊙ φ'(x), computed from y = φ(x), so x need not be kept. */
  activationGradient: launching('run the gradient of an activation', (operation, [y, dy], dx, numbers) => {
    const { activation, maximum, rows, columns } = numbers
    const count = rows * columns
    const fields = { dx, y, dy, count }
    if (activation === 'softmax') operation.list.launch('softmax_rows_gradient', rows, BLOCK, { dx, y, dy, columns })
    // φ' of a bounded relu is 0 at the bound, as in TensorFlow's relu6: the gradient there must not pass.
    else if (Number.isFinite(maximum)) operation.each('bounded_relu_gradient', count, { maximum, ...fields })
    else operation.each('activation_gradient', count, { activation: ACTIVATIONS.indexOf(activation), ...fields })
  }),

  /** y = x ⊙ mask; the mask is a function of seed, draw and element (Philox), so the backward draws it again. */
  dropout: launching('run dropout', (operation, [x], y, numbers) => {
    const { rows: count, seedLow, seedHigh, threshold, kept, drawLow, drawHigh } = numbers
    operation.each('dropout', count, { y, x, count, seedLow, seedHigh, threshold, kept, drawLow, drawHigh })
  }),

  /** y [N,E] = γ ⊙ (x - μ)/√(σ² + ε) + β over each row, with the biased variance (Ba, Kiros and Hinton 2016). */
  layerNorm: launching('normalize a layer', ({ list }, [x, gamma, beta], y, { rows, columns, epsilon }) =>
    list.launch('layer_norm', rows, BLOCK, { y, x, gamma, beta, columns, epsilon }),
  ),

  /** dx [N,E], dγ and dβ [E]. Mean and variance are computed again from x. */
  layerNormGradients: launching('run the gradients of layer normalization', (operation, buffers, results, numbers) => {
    const { list } = operation
    const [x, gamma, dy] = buffers
    const { rows, columns, epsilon } = numbers
    // dy ⊙ x̂ for each row.
    const dgammaRows = operation.scratch(rows * columns)
    const fields = { dx: results.input, dgammaRows, x, gamma, dy, columns, epsilon }
    list.launch('layer_norm_gradient', rows, BLOCK, fields)
    addUpRows(operation, results.gamma, dgammaRows, rows, columns)
    addUpRows(operation, results.beta, dy, rows, columns)
  }),

  /** y [T,B,E] = x, zeros past each row's length. The operation is its own gradient. */
  maskSequence: launching('mask a sequence', (operation, [x, lengths], y, { time, batch, columns }) => {
    const count = time * batch * columns
    operation.each('reverse_sequence', count, { y, x, lengths, count, time, batch, columns, reverses: 0 })
  }),

  /**
   * y [T,B,E]: the steps of each row in reverse, within its length; zeros past it, where tf.reverse_sequence copies. The
   * operation is its own gradient.
   */
  reverseSequence: launching('reverse a sequence', (operation, [x, lengths], y, { time, batch, columns }) => {
    const count = time * batch * columns
    operation.each('reverse_sequence', count, { y, x, lengths, count, time, batch, columns, reverses: 1 })
  }),

  /**
   * y [B,E]: last, mean or maximum over the steps of each row. Columns from `reversedFrom` on belong to a backward
   * direction, whose last step is step 0.
   */
  poolSequence: launching('pool a sequence', (operation, [x, lengths], y, numbers) => {
    const { time, batch, columns, pooling: rule, reversedFrom } = numbers
    const count = batch * columns
    const fields = { y, x, lengths, count, time, columns, pooling: POOLINGS.indexOf(rule), reversedFrom }
    operation.each('pool_sequence', count, fields)
  }),

  /** dx [T,B,E]; the kernel writes every element, so dx is not cleared before. */
  poolSequenceGradient: launching('run the gradient of pooling', (operation, [x, lengths, dy], dx, numbers) => {
    const { time, batch, columns, pooling: rule, reversedFrom } = numbers
    const count = batch * columns
    const fields = { dx, x, lengths, dy, count, time, columns, pooling: POOLINGS.indexOf(rule), reversedFrom }
    operation.each('pool_sequence_gradient', count, fields)
  }),

  /**
   * weights [T,B] = softmax of scores [T,B] along T, within each row's length; output [B,E] = Σ_t weights·x. Weights past
   * a row's length are 0, so x there is not read and may be NaN.
   */
  attend: launching('attend', (operation, [x, scores, lengths], results, { time, batch, columns }) => {
    const count = batch * columns
    operation.list.launch('attention_weights', batch, BLOCK, { scores, lengths, time, batch, ...results })
    operation.each('attend', count, { x, lengths, count, time, batch, columns, ...results })
  }),

  /**
   * dx [T,B,E] = weights·dy, dweights [T,B] = x·dy over E (one block for each (t, b)), and
   * dscores = weights ⊙ (dweights - Σ_t weights·dweights), the gradient of softmax.
   */
  attendGradients: launching('run the gradients of attention', (operation, [x, weights, dy], results, sizes) => {
    const { list } = operation
    const { time, batch, columns } = sizes
    const count = time * batch * columns
    const dweights = operation.scratch(time * batch)
    operation.each('attention_input_gradient', count, { dx: results.input, weights, dy, count, batch, columns })
    list.launch('attention_weight_gradient', time * batch, BLOCK, { dweights, x, weights, dy, batch, columns })
    const fields = { dscores: results.scores, weights, dweights, time, batch }
    list.launch('attention_score_gradient', batch, BLOCK, fields)
  }),

  /** open [B,U]: how far the gates of a `PhasedLSTMCell` are open at the times [B,1]. */
  phasedGate: launching('open phased gates', (operation, [times, period, phase, ratioOn], open, numbers) => {
    const { batch, units, leak } = numbers
    const count = batch * units
    operation.each('phased_gate', count, { open, times, period, phase, ratioOn, count, units, leak })
  }),

  /** One thread for each unit adds up the batch, and one for each row the units: sums have a fixed order. */
  phasedGateGradients: launching('run the gradients of phased gates', (operation, buffers, results, numbers) => {
    const [times, period, phase, ratioOn, dopen] = buffers
    const { batch, units, leak } = numbers
    const shared = { times, period, phase, ratioOn, dopen, batch, units, leak }
    const { period: dperiod, phase: dphase, ratioOn: dratioOn, times: dtimes } = results
    operation.each('phased_gate_gradients', units, { dperiod, dphase, dratioOn, ...shared })
    operation.each('phased_gate_time_gradient', batch, { dtimes, ...shared })
  }),

  /** Mean loss over all elements, weighted by row, and its gradient with respect to the predictions. */
  elementLoss: launching('compute a loss', (operation, [predictions, targets, weights], results, numbers) => {
    const { rows, columns } = numbers
    const { loss, gradient } = results
    const rule = ELEMENT_LOSSES.indexOf(numbers.loss)
    const fields = { gradient, predictions, targets, weights }
    addRowLosses(operation, rows, weights, loss, (sums) =>
      operation.list.launch('element_loss', rows, BLOCK, { rows, columns, rule, ...fields, ...sums }),
    )
  }),
}

/** sums [columns] = Σ over the rows of x [rows,columns]. */
function addUpRows(operation: Operation, sums: DeviceBuffer, x: DeviceBuffer, rows: number, columns: number): void {
  operation.list.launch('column_sums', Math.ceil(columns / COLUMNS_OF_BLOCK), BLOCK, { sums, x, rows, columns })
}

/**
 * Adds a mean of losses: `launch` adds the kernel of each row's, which divides by the total weight; without weights by the
 * number of rows. A total of 0 with weights gives a loss of 0.
 */
function addRowLosses(
  operation: Operation,
  rows: number,
  weights: DeviceBuffer | undefined,
  loss: DeviceBuffer,
  launch: (sums: Pick<KernelFields<'element_loss'>, 'loss' | 'rowLosses' | 'total'>) => void,
): void {
  const { list } = operation
  // float64: a sum of thousands of rows in float32 would lose digits. One block adds them in order, so the loss is the same
  // bits in every run.
  const rowLosses = operation.own(list.allocate(rows * Float64Array.BYTES_PER_ELEMENT))
  const total = weights && operation.own(list.allocate(Float64Array.BYTES_PER_ELEMENT))
  if (rows === 0) list.add('clear', { to: loss, offset: 0, bytes: loss.bytes })
  if (total) list.launch('sum', 1, BLOCK, { total, x: weights, count: rows })
  launch({ loss, rowLosses, total })
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
