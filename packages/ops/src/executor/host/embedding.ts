import type { FloatArray } from '@cudnn-rnn/canonical'
import { addRow, copyRow } from './rows.js'

/** Copies row ids[n] of table [V,E] into row n of `rows` [N,E]. */
export function embedding(rows: FloatArray, table: FloatArray, ids: Int32Array, columns: number): void {
  for (let n = 0; n < ids.length; n++) copyRow(rows, n * columns, table, ids[n] * columns, columns)
}

/** Adds row n of `rowsGradient` [N,E] to row ids[n] of `tableGradient` [V,E]. */
export function embeddingGradient(
  tableGradient: FloatArray,
  ids: Int32Array,
  rowsGradient: FloatArray,
  columns: number,
): void {
  for (let n = 0; n < ids.length; n++) addRow(tableGradient, ids[n] * columns, rowsGradient, n * columns, columns)
}
