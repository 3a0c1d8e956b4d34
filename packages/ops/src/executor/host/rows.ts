import type { FloatArray } from '@cudnn-rnn/canonical'

// Elements are not checked by floatAt, as in matrix_product.ts: these loops run in every step.

/** Writes `row` [columns] (zeros when undefined) into every one of `rows` rows of `target`. */
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

/** target[columns] += Σ over the rows of `source`, summed in double precision. */
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

/** target[targetBegin…] += source[sourceBegin…], `count` elements. */
export function addRow(
  target: FloatArray,
  targetBegin: number,
  source: FloatArray,
  sourceBegin: number,
  count: number,
): void {
  for (let j = 0; j < count; j++) target[targetBegin + j] += source[sourceBegin + j]
}
