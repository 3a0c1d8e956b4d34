import { elementCount } from '@cudnn-rnn/canonical'
import type { GraphTensor } from './runtime.js'

/** A tensor of many rows: the sizes of one, and the axis on which they stand side by side. */
export interface RowLayout {
  readonly name: string
  readonly type: string
  /** With 1 at the axis of the batch. */
  readonly shape: readonly number[]
  readonly axis: number
  /** Elements of a row. */
  readonly size: number
  /** Where the row begins, in a list of the rows of several tensors. */
  readonly offset: number
}

export function rowLayout(name: string, type: string, shape: readonly number[], axis: number): RowLayout {
  return { name, type, shape, axis, size: elementCount(shape), offset: 0 }
}

/** The layouts one after the other. */
export function sideBySide(layouts: readonly RowLayout[]): RowLayout[] {
  let next = 0
  return layouts.map((layout) => {
    const offset = next
    next += layout.size
    return { ...layout, offset }
  })
}

/** Elements of a row of each. */
export function sizeOf(layouts: readonly RowLayout[]): number {
  return layouts.reduce((sum, { size }) => sum + size, 0)
}

/** The shape of so many rows. */
export function rowsShape({ shape, axis }: RowLayout, rows: number): number[] {
  return shape.map((size, at) => (at === axis ? rows : size))
}

/** Copies row `row` of `rows`: from a batch to the elements of a list of rows at `offset`, or from there to the batch. */
export function copyRow(
  { shape, axis, size, offset: own }: RowLayout,
  [batch, row, rows]: readonly [Float32Array, row: number, rows: number],
  [elements, offset]: readonly [Float32Array, offset: number],
  direction: 'to batch' | 'from batch',
): void {
  const inner = elementCount(shape.slice(axis + 1))
  for (let outer = 0; outer * inner < size; outer++) {
    const [there, here] = [(outer * rows + row) * inner, offset + own + outer * inner]
    if (direction === 'to batch') batch.set(elements.subarray(here, here + inner), there)
    else elements.set(batch.subarray(there, there + inner), here)
  }
}

/** The layout of an output, of which `one` has one row and `two` has two; undefined where its rows are on no axis. */
export function layoutOfRows(name: string, one: GraphTensor, two: GraphTensor): RowLayout | undefined {
  const differs = one.dims.flatMap((size, axis) => (two.dims[axis] === size ? [] : [axis]))
  const [axis] = differs
  const isBatch = differs.length === 1 && axis !== undefined && one.dims[axis] === 1 && two.dims[axis] === 2
  return isBatch ? rowLayout(name, one.type, one.dims, axis) : undefined
}
