import type { HostLstm, HostProducts } from '@cudnn-rnn/backend'
import { addColumnSums, addRow, fillRows, matrix, transposed } from '@cudnn-rnn/executor-kit'

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
  /** [T,B,I] */
  readonly x: Float32Array
  /** [I,G·H], gates in Keras's order */
  readonly kernel: Float32Array
  /** [H,G·H] */
  readonly recurrentKernel: Float32Array
  /** [G·H]; null for none */
  readonly bias: Float32Array | null
  /** h, and for LSTM c, [B,H] each */
  readonly states: readonly Float32Array[]
  /** [T,B], 0 where a step is masked: the states stay, and h is also the output. Null for none. */
  readonly mask: Uint8Array | null
}

/** Gradients of the loss by the operands of the same names. */
interface SequenceGradients {
  readonly x: Float32Array
  readonly kernel: Float32Array
  readonly recurrentKernel: Float32Array
  readonly bias: Float32Array | null
  readonly states: readonly Float32Array[]
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

/** z [T·B,G·H] = x·W + b for all steps at once. */
export function inputSide({ products }: Kernels, o: SequenceOperands): Float32Array {
  const [rows, columns] = [o.time * o.batch, o.kernel.length / o.inputs]
  const z = new Float32Array(rows * columns)
  if (o.bias !== null) fillRows(z, rows, columns, o.bias, 0)
  products.addProduct(matrix(z, columns), matrix(o.x, o.inputs), matrix(o.kernel, columns), rows, columns, o.inputs)
  return z
}

/** The gradients by x, W and b from those by z [T·B,G·H]. */
export function inputGradients({ products }: Kernels, o: SequenceOperands, dz: Float32Array) {
  const [rows, columns] = [o.time * o.batch, o.kernel.length / o.inputs]
  const x = new Float32Array(o.x.length)
  products.addProduct(
    matrix(x, o.inputs),
    matrix(dz, columns),
    transposed(matrix(o.kernel, columns)),
    rows,
    o.inputs,
    columns,
  )
  const kernel = new Float32Array(o.kernel.length)
  products.addProduct(
    matrix(kernel, columns),
    transposed(matrix(o.x, o.inputs)),
    matrix(dz, columns),
    o.inputs,
    columns,
    rows,
  )
  const bias = o.bias === null ? null : new Float32Array(columns)
  if (bias !== null) addColumnSums(bias, 0, dz, rows, columns)
  return { x, kernel, bias }
}

/**
 * Moves the gradient by h after step t from `dh` to `arriving`, both [B,H], with that of the step's output. A masked row
 * hands on its h: its gradient stays in `dh`.
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
