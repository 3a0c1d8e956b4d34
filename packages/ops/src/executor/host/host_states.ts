import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import type { RowNumbers } from '../arguments/stream_rows.js'
import { allocating } from './host_allocation.js'

/** States […,B,E] of the rows of streams in host memory; they begin as zeros. */
export class HostStates {
  readonly #dtype: FloatDType
  #all: readonly Tensor<FloatArray>[]

  constructor(dtype: FloatDType, shapes: readonly (readonly number[])[]) {
    this.#dtype = dtype
    this.#all = shapes.map((shape) => this.#zeros(shape))
  }

  /** Copies of all rows, or of the listed ones. */
  copy(rows?: RowNumbers): Tensor<FloatArray>[] {
    if (rows === undefined) return this.#all.map(copied)
    return this.#all.map((state) => {
      const part = this.#zeros([...state.shape.slice(0, -2), rows.length, ...state.shape.slice(-1)])
      eachRow(state, part, rows, (own, taken) => taken.set(own))
      return part
    })
  }

  /** Copies the states of all rows, or of those named, which are the first of `given`. */
  put(given: readonly Tensor[], rows?: RowNumbers): void {
    const states = given as readonly Tensor<FloatArray>[]
    if (rows === undefined) this.#all = states.map(copied)
    else for (const [k, state] of this.#all.entries()) eachRow(state, states[k], rows, (own, taken) => own.set(taken))
  }

  /** Zeroes the states of all rows, or of those named. */
  reset(rows?: RowNumbers): void {
    if (rows === undefined) for (const { data } of this.#all) data.fill(0)
    else for (const state of this.#all) eachRow(state, state, rows, (own) => own.fill(0))
  }

  #zeros(shape: readonly number[]): Tensor<FloatArray> {
    return { data: allocating('open a stream', () => new DTYPES[this.#dtype].array(elementCount(shape))), shape }
  }
}

/** Calls `each` with the columns of each of `rows` in `states`, and of its place among the rows of `part`. */
function eachRow(
  states: Tensor<FloatArray>,
  part: Tensor<FloatArray>,
  rows: RowNumbers,
  each: (own: FloatArray, taken: FloatArray) => void,
): void {
  const [batch, columns] = states.shape.slice(-2)
  const [count] = part.shape.slice(-2)
  const blocks = elementCount(states.shape.slice(0, -2))
  for (let block = 0; block < blocks; block++) {
    for (const [at, row] of rows.entries()) {
      const [own, taken] = [(block * batch + row) * columns, (block * count + at) * columns]
      each(states.data.subarray(own, own + columns), part.data.subarray(taken, taken + columns))
    }
  }
}

function copied({ data, shape }: Tensor<FloatArray>): Tensor<FloatArray> {
  return { data: data.slice(), shape }
}
