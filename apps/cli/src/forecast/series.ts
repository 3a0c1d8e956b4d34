import { basename, join } from 'node:path'
import { type CsvRow, csvDataset, DataError, finiteNumber } from '@cudnn-rnn/rnn/train'
import { codedRangeError } from '../coded_error.js'
import { delimiterOf } from '../csv_delimiter.js'
import { dataPackageFolder } from '../data_package.js'
import { afterSteps, dateText, parsedDate, parsedDates, type StepDates, stepOf, stepsBetween } from './step_dates.js'

/** A time series with equal steps. */
export interface Series {
  /** The value of the column of series; empty for a file of one. */
  readonly name: string
  /** As the file has them; row numbers if there are no dates. Rows that the file lacks have theirs too. */
  readonly labels: readonly string[]
  /** Undefined where the labels are not dates. */
  readonly regular: StepDates | undefined
  /** NaN where missing. */
  readonly values: Float64Array
  /** Numbers of each step by column; NaN where missing. */
  readonly covariates: Readonly<Record<string, Float64Array>>
}

/** The columns of a file that a forecaster reads. */
export interface SeriesColumns {
  readonly value: string
  readonly date: string | undefined
  /** Names the series of a row, where a file has several. */
  readonly series: string | undefined
  /** Known up to the last value. */
  readonly covariates: readonly string[]
  /** Known for the steps to forecast, too: rows without a value at the end of a series have them. */
  readonly knownAhead: readonly string[]
}

/** All series of a file. */
export interface SeriesTable {
  readonly name: string
  readonly columns: SeriesColumns
  readonly series: readonly Series[]
}

export interface SeriesSource {
  readonly value?: string | undefined
  readonly date?: string | undefined
  readonly series?: string | undefined
  /** Undefined: the CO₂ series of the data package. */
  readonly csv: string | undefined
  /** Undefined: the one that the header has. */
  readonly delimiter?: string | undefined
  readonly covariates?: readonly string[] | undefined
  readonly knownAhead?: readonly string[] | undefined
}

/** Monthly means of CO₂ in the air over Mauna Loa since 1958, in parts per million (Scripps), as vega-datasets ships them. */
const CO2 = { name: 'vega-datasets', version: '3.2.1', megabytes: 42 }

/**
 * Reads the series that the options mean. Empty fields, NA, NaN and null are missing values, as are the rows that a series
 * of regular dates lacks.
 *
 * @throws DataError naming row and column of a value that is not a number, a date that is none or not after the one before;
 *   RangeError `ERR_DATA_PACKAGE`, `ERR_VALUE_COLUMN`
 */
export async function readSeries(source: SeriesSource): Promise<SeriesTable> {
  if (source.csv !== undefined) return tableOf(source.csv, basename(source.csv), source)
  const path = join(await dataPackageFolder(CO2), 'data', 'co2-concentration.csv')
  return tableOf(path, 'CO₂ at Mauna Loa', { ...source, date: 'Date', value: 'CO2' })
}

interface NumberedRow {
  readonly fields: CsvRow
  /** Counted from 1 with the header. */
  readonly row: number
}

async function tableOf(path: string, name: string, source: SeriesSource): Promise<SeriesTable> {
  const rows: NumberedRow[] = []
  const delimiter = source.delimiter ?? (await delimiterOf(path))
  for await (const fields of csvDataset(path, { delimiter })) rows.push({ fields, row: rows.length + 2 })
  if (rows.length === 0) {
    throw new DataError('ERR_DATA_EMPTY', `Cannot read ${path} as it must hold rows: it has a header alone`, { path })
  }
  const columns = columnsOf(path, rows, source)
  const groups = new Map<string, NumberedRow[]>()
  for (const each of rows) {
    const group = columns.series === undefined ? '' : each.fields[columns.series]
    const own = groups.get(group)
    if (own === undefined) groups.set(group, [each])
    else own.push(each)
  }
  return { name, columns, series: [...groups].map(([group, own]) => seriesOf(path, group, own, columns)) }
}

function columnsOf(path: string, rows: readonly NumberedRow[], source: SeriesSource): SeriesColumns {
  const { covariates = [], knownAhead = [], series } = source
  const known = Object.keys(rows[0]?.fields ?? {})
  for (const column of [...covariates, ...knownAhead, series, source.date, source.value]) {
    if (column === undefined || known.includes(column)) continue
    const message = `Cannot read ${path} as there must be a column ${column}: current columns are ${known.join(', ')}`
    throw new DataError('ERR_DATA_COLUMN', message, { path, column })
  }
  const taken = [...covariates, ...knownAhead, series]
  const free = known.filter((column) => !taken.includes(column))
  const date = source.date ?? free.find((column) => isDateColumn(rows, column))
  const value =
    source.value ??
    onlyNumericColumn(
      path,
      rows,
      free.filter((column) => column !== date),
      known,
    )
  return { value, date, series, covariates, knownAhead }
}

/** A column of dates and not of numbers. */
function isDateColumn(rows: readonly NumberedRow[], column: string): boolean {
  const text = rows[0].fields[column]
  return Number.isNaN(Number(text)) && !(parsedDate(text) === undefined && Number.isNaN(Date.parse(text)))
}

function onlyNumericColumn(
  path: string,
  rows: readonly NumberedRow[],
  columns: readonly string[],
  known: readonly string[],
): string {
  const numeric = columns.filter((column) => {
    const texts = rows.map(({ fields }) => fields[column]).filter((text) => !isMissing(text))
    return texts.length > 0 && Number.isFinite(Number(texts[0]))
  })
  const [column] = numeric
  if (column !== undefined && numeric.length === 1) return column
  throw codedRangeError(
    'ERR_VALUE_COLUMN',
    `Cannot choose the column to forecast as ${path} must have one of numbers: it has ${numeric.length} among ${known.join(', ')}. Name it by --value`,
    { path, numeric },
  )
}

function seriesOf(path: string, name: string, rows: readonly NumberedRow[], columns: SeriesColumns): Series {
  const { date: column } = columns
  const texts = rows.map(({ fields, row }) => (column === undefined ? String(row - 1) : fields[column]))
  const dates = column === undefined ? undefined : parsedDates(texts)
  const given = dates && { dates, step: stepOf(dates) }
  const places =
    given === undefined || column === undefined
      ? rows.map((_, index) => index)
      : placesOf(path, rows, given, { ...columns, date: column })
  const length = places[places.length - 1] + 1
  const read = (column: string) => {
    const numbers = new Float64Array(length).fill(Number.NaN)
    for (const [index, { fields, row }] of rows.entries()) {
      if (!isMissing(fields[column])) numbers[places[index]] = finiteNumber(fields, column, { path, row })
    }
    return numbers
  }
  const own = [...columns.covariates, ...columns.knownAhead]
  const regular = given && {
    step: given.step,
    dates: Array.from({ length }, (_, index) => afterSteps(given.dates[0], given.step, index)),
  }
  const labels = regular === undefined ? texts : regular.dates.map((date) => dateText(date, regular.step))
  // The texts of the file, where it has the row.
  for (const [index, place] of places.entries()) labels[place] = texts[index]
  return {
    name,
    labels,
    regular,
    values: read(columns.value),
    covariates: Object.fromEntries(own.map((column) => [column, read(column)])),
  }
}

/** Steps for each row of the file, at most: dates farther apart are a mistake. */
const MAX_SPARSITY = 20

/** The step of each row, counted from 0: rows that the file lacks leave gaps. */
function placesOf(
  path: string,
  rows: readonly NumberedRow[],
  { dates, step }: StepDates,
  { date: column, series }: SeriesColumns & { readonly date: string },
): number[] {
  let before = -1
  // Nearest steps, not exact ones: clocks are changed and months are of unequal length.
  return dates.map((date, index) => {
    const place = index === 0 ? 0 : Math.round(stepsBetween(dates[0], date, step))
    if (place > before && place <= MAX_SPARSITY * rows.length) {
      before = place
      return place
    }
    const { row, fields } = rows[index]
    const hint = series === undefined ? '. A file of several series needs --series <column>' : ''
    throw new DataError(
      'ERR_DATA_VALUE',
      `Cannot read ${path} as the date of row ${row}, column ${column} must be one or a few steps after the one before: current value is ${JSON.stringify(fields[column])}${hint}`,
      { path, row, column },
    )
  })
}

function isMissing(text: string): boolean {
  return /^\s*(?:na|n\/a|nan|null)?\s*$/i.test(text)
}
