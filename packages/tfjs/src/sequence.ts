import type { HostLstm, HostProducts } from '@cudnn-rnn/ops'
import { addRow, matrix, transposed } from '@cudnn-rnn/ops/executor'
import type { ActivationName } from './activation.js'
import type { PlannedCell } from './recurrent_layer.js'

/** The kernels of a recurrence: an executor's products and its LSTM, done when a call returns. */
export interface Kernels {
  readonly products: HostProducts
  readonly lstm: HostLstm | undefined
}

/** One cell over a batch of sequences, in the order in which the cell runs through them. */
export interface SequenceOperands {
  /** T */
  readonly time: number
  /** B */
  readonly batch: number
  /** I */
  readonly inputs: number
  /** H */
  readonly units: number
  /** [T,B,J]: J = I, or with a bias I + 1, and the last column has ones. */
  readonly x: Float32Array
  /** [J,G·H], gates in Keras's order. The bias is the last row: the products then add it and have its gradient. */
  readonly kernel: Float32Array
  /** [H,G·H] */
  readonly recurrentKernel: Float32Array
  /** h, and for LSTM c, [B,H] each */
  readonly states: readonly Float32Array[]
  /** [T,B], 0 if a step is masked: the states stay, and h is also the output. Null for none. */
  readonly mask: Uint8Array | null
}

/** Gradients of the loss with respect to the operands of the same names. */
interface SequenceGradients extends Pick<SequenceOperands, 'kernel' | 'recurrentKernel' | 'states'> {
  /** [T,B,I]. Computed by the call, as x is data in many models. */
  readonly x: () => Float32Array
}

/** A sequence that was computed, and its backward. */
export interface SequencePass {
  /** [(T+1)·B,H]: the initial h, then the output of every step. */
  readonly hidden: Float32Array
  /** The final states after h, [B,H] each: c of LSTM. */
  readonly finalCells: readonly Float32Array[]
  /**
   * Called at most once.
   *
   * @param outputs [T,B,H]; `states` [B,H] of the final states, overwritten.
   */
  backward(outputs: Float32Array, states: readonly Float32Array[]): SequenceGradients
}

/** Whether row b does nothing at step t. */
export function isMasked({ mask, batch }: SequenceOperands, t: number, b: number): boolean {
  return mask !== null && mask[t * batch + b] === 0
}

/** J and G·H. */
function kernelShape(o: SequenceOperands): readonly [rows: number, columns: number] {
  const rows = o.x.length / (o.time * o.batch)
  return [rows, o.kernel.length / rows]
}

/** z [T·B,G·H] = x·W + b for all steps at once. */
export function inputSide({ products }: Kernels, o: SequenceOperands): Float32Array {
  const steps = o.time * o.batch
  const [rows, columns] = kernelShape(o)
  const z = new Float32Array(steps * columns)
  products.addProduct(matrix(z, columns), matrix(o.x, rows), matrix(o.kernel, columns), steps, columns, rows)
  return z
}

/** The gradients with respect to x, W and b from those with respect to z [T·B,G·H]. */
export function inputGradients({ products }: Kernels, o: SequenceOperands, dz: Float32Array) {
  const { inputs } = o
  const steps = o.time * o.batch
  const [rows, columns] = kernelShape(o)
  const gradient = matrix(dz, columns)
  const x = () => {
    const result = new Float32Array(steps * inputs)
    const kernel = transposed(matrix(o.kernel, columns))
    products.addProduct(matrix(result, inputs), gradient, kernel, steps, inputs, columns)
    return result
  }
  const kernel = new Float32Array(o.kernel.length)
  products.addProduct(matrix(kernel, columns), transposed(matrix(o.x, rows)), gradient, rows, columns, steps)
  return { x, kernel }
}

/**
 * Adds the gradient of columns of the recurrent kernel, by which `states` [T·B,H] were multiplied: one product of all steps.
 *
 * @param dz [T·B,columns], the gradients with respect to the products.
 */
export function addRecurrentGradient(
  { products }: Kernels,
  { time, batch, units }: SequenceOperands,
  gradient: ReturnType<typeof matrix>,
  states: Float32Array,
  dz: ReturnType<typeof matrix>,
  columns: number,
): void {
  products.addProduct(gradient, transposed(matrix(states, units)), dz, units, columns, time * batch)
}

/**
 * Moves the gradient with respect to h after step t from `dh` to `arriving`, both [B,H], with the step output's gradient. A
 * masked row passes its h to the next step: its gradient stays in `dh`.
 */
export function takeGradient(
  o: SequenceOperands,
  t: number,
  outputs: Float32Array,
  dh: Float32Array,
  arriving: Float32Array,
): void {
  const { batch, units } = o
  addRow(dh, 0, outputs, t * batch * units, batch * units)
  arriving.set(dh)
  for (let b = 0; b < batch; b++) {
    if (!isMasked(o, t, b)) dh.fill(0, b * units, (b + 1) * units)
  }
}

/** The first B rows are the initial h, the others zeros. */
export function hiddenStates({ time, batch, units, states }: SequenceOperands, state = 0): Float32Array {
  const hidden = new Float32Array((time + 1) * batch * units)
  hidden.set(states[state])
  return hidden
}

/** Copies a state [B,H] over a masked step. */
export function keepMasked(o: SequenceOperands, t: number, states: Float32Array): void {
  if (o.mask === null) return
  const { batch, units } = o
  for (let b = 0; b < batch; b++) {
    if (!isMasked(o, t, b)) continue
    const from = (t * batch + b) * units
    states.copyWithin(from + batch * units, from, from + units)
  }
}

/** An executor as the recurrences of TensorFlow.js's cells. */
export interface Recurrences {
  /** Cells of other activations are TensorFlow.js's. */
  readonly activations: readonly ActivationName[]
  /** One cell over a batch of sequences, done when the call returns. */
  run(cell: PlannedCell, o: SequenceOperands): SequencePass
}
