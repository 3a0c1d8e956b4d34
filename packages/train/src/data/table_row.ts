import { describeValue, hasErrorCode } from '@cudnn-rnn/canonical'
import { checkArguments, fields, integerFrom, NUMBER, numberOfText, OBJECT, TEXT } from '@cudnn-rnn/canonical/rules'
import { DataError, isSystemError, unreadable } from './data_error.js'

/** One row of a table by the names of its columns. Values are the file's: 64-bit integers come as bigint. */
export type TableRow = Readonly<Record<string, unknown>>

/** The rows that `read` yields; an error of the library becomes a DataError `ERR_DATA_SYNTAX` naming the row. */
export async function* readTable(
  path: string,
  format: string,
  read: () => AsyncIterable<TableRow>,
): AsyncGenerator<TableRow> {
  let row = 0
  try {
    for await (const fields of read()) {
      row++
      yield fields
    }
  } catch (cause) {
    if (cause instanceof DataError || hasErrorCode(cause, 'ERR_PACKAGE_MISSING')) throw cause
    if (isSystemError(cause)) throw unreadable(path, cause)
    const message = `Cannot read ${path} as it must be a valid ${format} file: after row ${row}, ${(cause as Error).message}`
    throw new DataError('ERR_DATA_SYNTAX', message, { path, row }, { cause })
  }
}

const FIELD = { fields: OBJECT, column: TEXT, place: fields({ path: TEXT, row: NUMBER }) }

/**
 * A field of a row as a finite number; a text must be a decimal one, such as `-0.5` or `1e3`.
 *
 * @param place of the row, counted from 1, for the message.
 * @throws DataError `ERR_DATA_COLUMN` for a column that is missing, `ERR_DATA_VALUE` for anything but a finite number
 * @example
 * ```ts
 * import { hasErrorCode } from '@cudnn-rnn/rnn'
 * import { finiteNumber } from '@cudnn-rnn/rnn/train'
 *
 * const place = { path: 'prices.csv', row: 2 }
 * console.log(finiteNumber({ price: '20.5' }, 'price', place)) // 20.5
 * try {
 *   finiteNumber({ price: 'free' }, 'price', place)
 * } catch (error) {
 *   console.log(hasErrorCode(error, 'ERR_DATA_VALUE')) // true
 * }
 * ```
 */
export function finiteNumber(
  row: TableRow,
  column: string,
  place: { readonly path: string; readonly row: number },
): number {
  checkArguments('read a field', { fields: row, column, place }, FIELD)
  const field = Object.hasOwn(row, column) ? row[column] : undefined
  const at = { ...place, column }
  if (field === undefined) throw missingColumn(at, Object.keys(row))
  const value = numberOf(field)
  if (Number.isFinite(value)) return value
  throw new DataError(
    'ERR_DATA_VALUE',
    `Cannot read ${place.path} as row ${place.row}, column ${column} must be a finite number: current value is ${describeValue(field)}`,
    at,
  )
}

/**
 * A field as a class id in 0..classes-1. Throws as {@link finiteNumber}, `ERR_DATA_VALUE` also for ids out of range.
 *
 * @example
 * ```ts
 * import { classId } from '@cudnn-rnn/rnn/train'
 *
 * const place = { path: 'digits.csv', row: 2 }
 * console.log(classId({ digit: '7' }, 'digit', 10, place)) // 7
 * ```
 */
export function classId(
  fields: TableRow,
  column: string,
  classes: number,
  place: { readonly path: string; readonly row: number },
): number {
  checkArguments('read a field', { classes }, { classes: integerFrom(1) })
  const id = finiteNumber(fields, column, place)
  if (Number.isInteger(id) && id >= 0 && id < classes) return id
  throw new DataError(
    'ERR_DATA_VALUE',
    `Cannot read ${place.path} as row ${place.row}, column ${column} must be an integer in 0..${classes - 1}: current value is ${id}`,
    { ...place, column },
  )
}

/** A DataError `ERR_DATA_COLUMN` that lists the columns there are. */
export function missingColumn(
  place: { readonly path: string; readonly row?: number; readonly column: string },
  known: readonly string[],
): DataError {
  // A header that was not divided: the file has another delimiter.
  const other = known.length === 1 ? /[;\t|]/.exec(known[0])?.[0] : undefined
  const advice = other === undefined ? '' : `. Read it with the delimiter ${JSON.stringify(other)}`
  return new DataError(
    'ERR_DATA_COLUMN',
    `Cannot read ${place.path} as there must be a column ${place.column}: current columns are ${known.join(', ')}${advice}`,
    place,
  )
}

function numberOf(field: unknown): number {
  if (typeof field === 'string') return numberOfText(field)
  return typeof field === 'number' || typeof field === 'bigint' ? Number(field) : Number.NaN
}
