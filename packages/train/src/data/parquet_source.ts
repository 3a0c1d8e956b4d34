import { checkOptions, listOf, type OptionsOf, optional, TEXT } from '@cudnn-rnn/canonical/rules'
import type { Dataset } from './dataset.js'
import { fileDataset } from './file_source.js'
import { missingColumn, readTable, type TableRow } from './table_row.js'
import { whileUnchanged } from './unchanged_file.js'

const OPTIONS = {
  /** Names of the columns to read. Default: all. */
  columns: optional(listOf(TEXT)),
}

interface ParquetOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * The rows of a Parquet file, one row group at a time; every usual compression. Only `columns` are read when given.
 *
 * @throws DataError while reading: `ERR_DATA_EMPTY`, `ERR_DATA_SYNTAX`, `ERR_DATA_CHANGED`, `ERR_DATA_COLUMN`
 * @example
 * ```ts
 * import { parquetDataset } from '@cudnn-rnn/rnn/train'
 *
 * const rows = parquetDataset('../fixtures/tables/table_zstd.parquet')
 * for await (const row of rows) {
 *   console.log(row) // { price: 0, count: 0n, text: 'row 0 🐋' }
 *   break
 * }
 * ```
 */
export function parquetDataset(path: string, options: ParquetOptions = {}): Dataset<TableRow> {
  const { columns } = checkOptions('read Parquet', options, OPTIONS)
  const elements = columns === undefined ? 'Parquet rows' : `Parquet rows, columns ${JSON.stringify(columns)},`
  return fileDataset(path, elements, () =>
    whileUnchanged(path, () => readTable(path, 'Parquet', () => rowsOf(path, columns))),
  )
}

async function* rowsOf(path: string, columns: readonly string[] | undefined): AsyncGenerator<TableRow> {
  // Loaded with the first Parquet file.
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } = await import('hyparquet')
  const { compressors } = await import('hyparquet-compressors')
  const file = await asyncBufferFromFile(path)
  const metadata = await parquetMetadataAsync(file)
  const known = parquetSchema(metadata).children.map(({ element }) => element.name)
  const missing = columns?.find((column) => !known.includes(column))
  if (missing !== undefined) throw missingColumn({ path, column: missing }, known)
  const selected = columns && { columns: [...columns] }
  let rowStart = 0
  for (const { num_rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(num_rows)
    yield* await parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors, ...selected })
    rowStart = rowEnd
  }
}
