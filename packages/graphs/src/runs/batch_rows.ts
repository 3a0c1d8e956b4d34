import { elementCount } from '@cudnn-rnn/canonical'
import type { GraphTensor, RuntimeSession, Tensors } from '../runtime.js'

/** A tensor of many rows: the sizes of one, and the axis on which they are side by side. */
export interface RowLayout {
  readonly name: string
  /** With 1 at the axis of the batch. */
  readonly shape: readonly number[]
  readonly axis: number
}

/** Rows of several tensors of float32: in memory the elements of one row are together, tensor after tensor. */
export class BatchRows {
  readonly layouts: readonly (RowLayout & { readonly offset: number; readonly size: number; readonly inner: number })[]
  /** Elements of a row. */
  readonly size: number

  constructor(layouts: readonly RowLayout[]) {
    let offset = 0
    this.layouts = layouts.map((layout) => {
      const [size, inner] = [elementCount(layout.shape), elementCount(layout.shape.slice(layout.axis + 1))]
      offset += size
      return { ...layout, size, inner, offset: offset - size }
    })
    this.size = offset
  }

  /** Tensors of the rows that begin at these places. */
  tensors(session: RuntimeSession, rows: readonly (readonly [Float32Array, begin: number])[]): Tensors {
    const tensors = this.layouts.map(({ name, shape, axis, size, inner, offset }) => {
      const batch = new Float32Array(size * rows.length)
      for (const [row, [elements, begin]] of rows.entries()) {
        for (let at = 0; at < size; at += inner) {
          const from = begin + offset + at
          batch.set(elements.subarray(from, from + inner), at * rows.length + row * inner)
        }
      }
      return [name, session.tensor('float32', batch, shape.with(axis, rows.length))] as const
    })
    return Object.fromEntries(tensors)
  }

  /** Copies row `row` of the `rows` of tensors to `elements`. */
  copy(
    tensors: Tensors,
    row: number,
    rows: number,
    elements: Float32Array = new Float32Array(this.size),
    begin = 0,
  ): Float32Array {
    for (const { name, size, inner, offset } of this.layouts) {
      const batch = tensors[name]?.data as Float32Array
      for (let at = 0; at < size; at += inner) {
        const from = at * rows + row * inner
        elements.set(batch.subarray(from, from + inner), begin + offset + at)
      }
    }
    return elements
  }
}

/** The layout of an output, of which `one` has one row and `two` has two; undefined where its rows are on no axis. */
export function layoutOfRows(name: string, one: GraphTensor, two: GraphTensor): RowLayout | undefined {
  const [axis, ...others] = [...one.dims.keys()].filter((at) => one.dims[at] !== two.dims[at])
  const isBatch = axis !== undefined && others.length === 0 && one.dims[axis] === 1 && two.dims[axis] === 2
  return isBatch ? { name, shape: one.dims, axis } : undefined
}
