import type { FloatArray } from '@cudnn-rnn/canonical'

// Elements are asserted (`!`), not checked by floatAt, as in matrix_product.ts: these loops run in every step.

/**
 * Writes `row` [columns] (zeros when undefined) into every one of `rows` rows of `target`.
 *
 * @example
 * ```ts
 * import { fillRows } from '@cudnn-rnn/executor-kit'
 *
 * const target = new Float32Array(4)
 * fillRows(target, 2, 2, Float32Array.of(1, 2), 0)
 * console.log(target) // [1, 2, 1, 2]
 * ```
 */
export function fillRows(
  target: FloatArray,
  rows: number,
  columns: number,
  row: FloatArray,
  rowBegin: number | undefined,
): void {
  if (rowBegin === undefined) {
    target.fill(0, 0, rows * columns)
    return
  }
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) target[i * columns + j] = row[rowBegin + j]
  }
}

/**
 * target[columns] += Σ over the rows of `source`, summed in double precision.
 *
 * @example
 * ```ts
 * import { addColumnSums } from '@cudnn-rnn/executor-kit'
 *
 * const sums = new Float32Array(2)
 * addColumnSums(sums, 0, Float32Array.of(1, 2, 3, 4), 2, 2)
 * console.log(sums) // [4, 6]
 * ```
 */
export function addColumnSums(
  target: FloatArray,
  targetBegin: number,
  source: FloatArray,
  rows: number,
  columns: number,
): void {
  const sums = new Float64Array(columns)
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) sums[j] += source[i * columns + j]
  }
  for (let j = 0; j < columns; j++) target[targetBegin + j] += sums[j]
}

/**
 * target[targetBegin…] = source[sourceBegin…], `count` elements; a bare loop, as `subarray` in a time loop allocates.
 *
 * @example
 * ```ts
 * import { copyRow } from '@cudnn-rnn/executor-kit'
 *
 * const target = new Float32Array(3)
 * copyRow(target, 1, Float32Array.of(7, 8, 9), 0, 2)
 * console.log(target) // [0, 7, 8]
 * ```
 */
export function copyRow(
  target: FloatArray,
  targetBegin: number,
  source: FloatArray,
  sourceBegin: number,
  count: number,
): void {
  for (let j = 0; j < count; j++) target[targetBegin + j] = source[sourceBegin + j]
}

/**
 * target[targetBegin…] += source[sourceBegin…], `count` elements.
 *
 * @example
 * ```ts
 * import { addRow } from '@cudnn-rnn/executor-kit'
 *
 * const row = Float32Array.of(1, 2)
 * addRow(row, 0, Float32Array.of(10, 20), 0, 2)
 * console.log(row) // [11, 22]
 * ```
 */
export function addRow(
  target: FloatArray,
  targetBegin: number,
  source: FloatArray,
  sourceBegin: number,
  count: number,
): void {
  for (let j = 0; j < count; j++) target[targetBegin + j] += source[sourceBegin + j]
}
