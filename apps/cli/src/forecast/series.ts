import { basename, join } from 'node:path'
import { type CsvRow, csvDataset, finiteNumber, textDataset } from '@cudnn-rnn/rnn/train'
import { codedRangeError } from '../coded_error.js'
import { dataPackageFolder } from '../data_package.js'

/** A time series with equal steps. */
export interface Series {
  readonly name: string
  /** Name of the value's column. */
  readonly column: string
  /** As the file has them; row numbers if there are no dates. */
  readonly dates: readonly string[]
  readonly values: Float64Array
}

export interface SeriesSource {
  /** Undefined: the CO₂ series of the data package. */
  readonly csv: string | undefined
  /** Undefined: the one that the header has. */
  readonly delimiter?: string | undefined
  readonly date: string | undefined
  readonly value: string | undefined
}

/** Monthly means of CO₂ in the air over Mauna Loa since 1958, in parts per million (Scripps), as vega-datasets ships them. */
const CO2 = { name: 'vega-datasets', version: '3.2.1', megabytes: 42 }

/**
 * Reads the series that the options mean.
 *
 * @throws DataError naming row and column of a value that is not a finite number; RangeError `ERR_DATA_PACKAGE`, `ERR_VALUE_COLUMN`
 */
export async function readSeries(source: SeriesSource): Promise<Series> {
  if (source.csv !== undefined) return seriesOfCsv(source.csv, basename(source.csv), source)
  const path = join(await dataPackageFolder(CO2), 'data', 'co2-concentration.csv')
  return seriesOfCsv(path, 'CO₂ at Mauna Loa', { date: 'Date', value: 'CO2' })
}

async function seriesOfCsv(path: string, name: string, wanted: Omit<SeriesSource, 'csv'>): Promise<Series> {
  const dates: string[] = []
  const values: number[] = []
  let columns: { date: string | undefined; value: string } | undefined
  // The header is row 1.
  let row = 1
  const delimiter = wanted.delimiter ?? (await delimiterOf(path))
  for await (const fields of csvDataset(path, { delimiter })) {
    row++
    columns ??= { date: wanted.date ?? dateColumn(fields), value: wanted.value ?? valueColumn(path, fields) }
    values.push(finiteNumber(fields, columns.value, { path, row }))
    dates.push(columns.date === undefined ? String(row - 1) : (fields[columns.date] ?? ''))
  }
  return { name, column: columns?.value ?? '', dates, values: Float64Array.from(values) }
}

/** The delimiter of which the header has most; a comma where it has none. */
async function delimiterOf(path: string): Promise<string> {
  for await (const header of textDataset(path)) {
    const counts = DELIMITERS.map((delimiter) => header.split(delimiter).length)
    return DELIMITERS[counts.indexOf(Math.max(...counts))]!
  }
  return ','
}

const DELIMITERS = [',', ';', '\t', '|'] as const

/** The first column that reads as dates, not as numbers. */
function dateColumn(fields: CsvRow): string | undefined {
  return Object.keys(fields).find((column) => {
    const text = fields[column]!
    return Number.isNaN(Number(text)) && !Number.isNaN(Date.parse(text))
  })
}

/** The only column of numbers. */
function valueColumn(path: string, fields: CsvRow): string {
  const numeric = Object.keys(fields).filter(
    (column) => fields[column]!.trim() !== '' && Number.isFinite(Number(fields[column])),
  )
  const [column] = numeric
  if (column !== undefined && numeric.length === 1) return column
  const known = Object.keys(fields).join(', ')
  throw codedRangeError(
    'ERR_VALUE_COLUMN',
    `Cannot choose the column to forecast as ${path} must have one of numbers: it has ${numeric.length} among ${known}. Name it by --value`,
    { path, numeric },
  )
}
