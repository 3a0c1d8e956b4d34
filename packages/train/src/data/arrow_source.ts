import { missingPackage } from '@cudnn-rnn/canonical/rules'
import type { Dataset } from './dataset.js'
import { fileDataset } from './file_source.js'
import { readTable, type TableRow } from './table_row.js'
import { readUnchanged } from './unchanged_file.js'

/**
 * The rows of an Arrow IPC file or stream (Feather version 2 is the former); a stream is read batch by batch.
 *
 * @throws DataError while reading: `ERR_DATA_EMPTY`, `ERR_DATA_SYNTAX`, `ERR_DATA_CHANGED`; Error `ERR_PACKAGE_MISSING`
 *   if the optional peer dependency `apache-arrow` is not installed
 * @example
 * ```ts
 * import { arrowDataset } from '@cudnn-rnn/rnn/train'
 *
 * const rows = arrowDataset('../fixtures/tables/table.arrow')
 * for await (const row of rows) {
 *   console.log(row) // { price: 0, count: 0n, text: 'row 0 🐋' }
 *   break
 * }
 * ```
 */
export function arrowDataset(path: string): Dataset<TableRow> {
  return fileDataset(path, 'Arrow rows', () => readTable(path, 'Arrow', () => rowsOf(path)))
}

async function* rowsOf(path: string): AsyncGenerator<TableRow> {
  const RecordBatchReader = await loadReader()
  const reader = await RecordBatchReader.from(readUnchanged(path))
  for await (const batch of reader) {
    for (const row of batch) yield row.toJSON() as TableRow
  }
}

/** Loads an optional peer dependency with the first file. */
async function loadReader() {
  // Within `try`, bundlers take a package that is not installed for an optional one.
  try {
    const { RecordBatchReader } = await import('apache-arrow')
    return RecordBatchReader
  } catch (cause) {
    throw missingPackage('read Arrow', 'apache-arrow', cause)
  }
}
