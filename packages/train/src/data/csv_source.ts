import { Readable } from 'node:stream'
import { checkOptions, type OptionsOf, optional, TEXT, where } from '@cudnn-rnn/canonical/rules'
import { DataError } from './data_error.js'
import type { Dataset } from './dataset.js'
import { fileDataset } from './file_source.js'
import { LONGEST_LINE, readText } from './unchanged_file.js'

/** One row of a CSV file by the names of its header. */
export type CsvRow = Readonly<Record<string, string>>

const OPTIONS = {
  /** Between the fields of a row, at least one character. Default a comma. */
  delimiter: optional(where(TEXT, 'a string of at least one character', (text: string) => text !== '')),
}

interface CsvOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * The rows of a CSV file with a header line. Values stay text; `finiteNumber` turns them into numbers.
 *
 * @throws DataError while reading: `ERR_DATA_EMPTY`, `ERR_DATA_RAGGED` (a row with more or fewer fields than the header),
 *   `ERR_DATA_COLUMN` (two columns of one name), `ERR_DATA_SYNTAX` (quotes, bytes that are not UTF-8, NUL characters, a row of
 *   more than 67,108,864 characters), `ERR_DATA_CHANGED`; each names the row, counted from 1 with the header
 * @example
 * ```ts
 * import { writeFile } from 'node:fs/promises'
 * import { csvDataset } from '@cudnn-rnn/rnn/train'
 *
 * await writeFile('prices.csv', 'day;price\n1;20.5\n2;21\n')
 * const prices = csvDataset('prices.csv', { delimiter: ';' }).map(({ price }) => Number(price))
 * for await (const batch of prices.batch(2)) console.log(batch) // [20.5, 21]
 * ```
 */
export function csvDataset(path: string, options: CsvOptions = {}): Dataset<CsvRow> {
  const { delimiter = ',' } = checkOptions('read CSV', options, OPTIONS)
  return fileDataset(path, `CSV rows, delimiter ${JSON.stringify(delimiter)},`, async function* () {
    // The parser is loaded with the first file.
    const { CsvError, parse } = await import('csv-parse')
    const parser = parse({
      columns: (header: string[]) => differentNames(path, header),
      record_delimiter: ['\r\n', '\n', '\r'],
      delimiter,
      skip_empty_lines: true,
      max_record_size: LONGEST_LINE,
    })
    const bytes = Readable.from(readText(path))
    bytes.on('error', (error) => parser.destroy(error))
    try {
      yield* bytes.pipe(parser) as AsyncIterable<CsvRow>
    } catch (error) {
      if (!(error instanceof CsvError)) throw error
      const row = error.lines as number | undefined
      const ragged = error.code === 'CSV_RECORD_INCONSISTENT_COLUMNS'
      const code = ragged ? 'ERR_DATA_RAGGED' : 'ERR_DATA_SYNTAX'
      throw new DataError(
        code,
        `Cannot read ${path} as row ${row} is not valid CSV: ${error.message}`,
        { path, row },
        { cause: error },
      )
    } finally {
      bytes.destroy()
    }
  })
}

/** A row would have only the second of two columns of one name. Exports of spreadsheets have several without a name. */
function differentNames(path: string, header: readonly string[]): string[] {
  const known = new Set<string>()
  const twice = header.find((name) => {
    if (known.has(name)) return true
    if (name !== '') known.add(name)
    return false
  })
  // A row is an object: writing this name would change its prototype, and the column would be lost.
  const isLost = header.includes('__proto__')
  if (twice === undefined && !isLost) return [...header]
  const fault = isLost
    ? 'no column may be named __proto__: the header has one'
    : `its columns must have different names: the header has ${JSON.stringify(twice)} twice`
  throw new DataError('ERR_DATA_COLUMN', `Cannot read ${path} as ${fault}`, {
    path,
    row: 1,
    column: twice ?? '__proto__',
  })
}
