import { describeValue } from '@cudnn-rnn/canonical'
import { arrayTypeOf, codedRangeError, codedTypeError, liveLength } from '@cudnn-rnn/canonical/rules'
import type { RnnStepper } from '@cudnn-rnn/ops'

export type RowNumbers = Parameters<RnnStepper['stepRowsSync']>[0]

/**
 * Copies the rows that are to be reset; naming a row twice is harmless.
 *
 * @throws TypeError, RangeError `ERR_STREAM_ROW` unless they are an array of rows in 0..batch-1
 */
export function checkStreamRows(batch: number, rows: RowNumbers): readonly number[] {
  const action = 'reset a stream'
  const checked: number[] = []
  const count = checkIsRowNumbers(action, rows)
  for (let index = 0; index < count; index++) {
    const row = rows[index]
    if (!isRow(row, batch)) throw outOfRange(action, batch, row)
    checked.push(row)
  }
  return checked
}

/**
 * The row numbers of one call at a time, checked and copied into memory that is allocated once: the kernel gets the
 * checked numbers, and a step allocates nothing.
 */
export class StreamRows {
  readonly #batch: number
  /** 1 for the rows that the call being checked has named so far. */
  #named: Uint8Array | undefined
  #numbers = new Int32Array(0)

  constructor(batch: number) {
    this.#batch = batch
  }

  /** Numbers of the last successful {@link take}: row numbers from 0 on, as many as it returned. */
  get numbers(): Int32Array {
    return this.#numbers
  }

  /** A copy of the rows of a call. Throws as {@link take}. */
  copyOf(action: string, rows: RowNumbers): Int32Array {
    const count = this.take(action, rows)
    return this.#numbers.slice(0, count)
  }

  /**
   * Takes the rows of a call.
   *
   * @returns how many there are.
   * @throws TypeError `ERR_STREAM_ROW` unless `rows` is an array or an Int32Array; RangeError `ERR_STREAM_ROW` for a row
   *   that is not in 0..batch-1, or is named twice
   */
  take(action: string, rows: RowNumbers): number {
    const count = checkIsRowNumbers(action, rows)
    const batch = this.#batch
    if (count > batch) {
      throw codedRangeError(
        'ERR_STREAM_ROW',
        `Cannot ${action} as the stream has ${batch} rows and each may be named once: current number is ${count}`,
        { batch, count },
      )
    }
    if (this.#named === undefined) {
      this.#named = new Uint8Array(batch)
      this.#numbers = new Int32Array(batch)
    }
    const named = this.#named
    const numbers = this.#numbers
    let taken = 0
    let refused: unknown
    for (; taken < count; taken++) {
      const row = rows[taken]
      if (!isRow(row, batch) || named[row] === 1) {
        refused = row
        break
      }
      named[row] = 1
      numbers[taken] = row
    }
    for (let index = 0; index < taken; index++) named[numbers[index]] = 0
    if (taken === count) return count
    if (!isRow(refused, batch)) throw outOfRange(action, batch, refused)
    throw codedRangeError(
      'ERR_STREAM_ROW',
      `Cannot ${action} as each row may be named once: row ${refused} is named again at position ${taken}`,
      { row: refused, position: taken },
    )
  }
}

function isRow(row: unknown, batch: number): row is number {
  return Number.isInteger(row) && (row as number) >= 0 && (row as number) < batch
}

/** How many there are. Throws TypeError `ERR_STREAM_ROW` unless `rows` is an array or an Int32Array. */
function checkIsRowNumbers(action: string, rows: RowNumbers): number {
  if (Array.isArray(rows)) return rows.length
  if (arrayTypeOf(rows) === 'Int32Array') return liveLength(rows as Int32Array)
  throw codedTypeError(
    'ERR_STREAM_ROW',
    `Cannot ${action} as rows must be an array of row numbers or an Int32Array: current value is ${describeValue(rows)}`,
    { rows },
  )
}

function outOfRange(action: string, batch: number, row: unknown) {
  return codedRangeError(
    'ERR_STREAM_ROW',
    `Cannot ${action} as rows must be in 0..${batch - 1}: current value is ${describeValue(row)}`,
    { row },
  )
}
