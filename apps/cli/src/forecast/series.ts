import { basename, join } from 'node:path'
import { listIn, numberOfText } from '@cudnn-rnn/canonical/rules'
import { type CsvRow, csvDataset, DataError, finiteNumber } from '@cudnn-rnn/rnn/train'
import { codedRangeError } from '../coded_error.js'
import { delimiterOf } from '../csv_delimiter.js'
import { dataPackageFolder } from '../data_package.js'
import { isDate, type ReadDates, readDates } from './date_form.js'
import { decimalMarkOf, withPoint } from './decimal_mark.js'
import { MAX_SPARSITY, type TimeAxis, timeAxis } from './time_axis.js'

/** A time series with equal steps. */
export interface Series {
  /** The value of the column of series; empty for a file of one. */
  readonly name: string
  /** Texts of the file; row numbers if there are no dates. Rows that the file lacks have theirs too. */
  readonly labels: readonly string[]
  /** Undefined if rows have no dates. */
  readonly axis: TimeAxis | undefined
  /** NaN if missing. */
  readonly values: Float64Array
  /** Numbers of each step by column; NaN if missing. */
  readonly covariates: Readonly<Record<string, Float64Array>>
}

/** The columns of a file that a forecaster reads. */
export interface SeriesColumns {
  readonly value: string
  readonly date: string | undefined
  /** Names the series of a row, if a file has several. */
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
 * Reads the series that the options mean, its rows in any order of time. Empty fields, NA, NaN and null are missing values, as are the rows that a series
 * of regular dates lacks.
 *
 * @throws DataError naming row and column of a value that is not a number, and of a date that is none or off the step of the others;
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
    listIn(groups, columns.series === undefined ? '' : each.fields[columns.series]).push(each)
  }
  const axes = axesOf(path, [...groups.values()], rows, columns)
  const marks = new Map(
    numberColumns(columns).map((column) => [
      column,
      decimalMarkOf(
        path,
        column,
        rows.map(({ fields }) => fields[column]),
      ),
    ]),
  )
  const series = [...groups].map(([group, own], n) => seriesOf(path, group, own, columns, axes?.[n], marks))
  return { name, columns, series }
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
  const date = source.date ?? free.find((column) => isDate(column, firstText(rows, column)))
  const value =
    source.value ??
    onlyNumericColumn(
      path,
      rows,
      free.filter((column) => column !== date),
      known,
    )
  if (Number.isFinite(numberOfText(value)) && (date === undefined ? known : [date]).every(isValue)) {
    const message = `Cannot read ${path} as its first row must name the columns: it is ${known.join(', ')}, and would be lost. Write a header before it`
    throw new DataError('ERR_DATA_COLUMN', message, { path, row: 1, column: value })
  }
  if (date === undefined) {
    checkRowsInOrder(
      path,
      rows,
      free.filter((column) => column !== value),
      ({ fields }) => (series === undefined ? '' : fields[series]),
    )
  }
  return { value, date, series, covariates, knownAhead }
}

/** Whether a name of a column is a number or a date: then it is the first row of a file without a header. */
function isValue(name: string): boolean {
  return Number.isFinite(numberOfText(name)) || isDate('date', name)
}

/** Names of columns that state the time of a row. */
const OF_TIME = /(?:^|[^a-z])(?:date|time|timestamp|datetime|day|week|month|quarter|year|period)(?:$|[^a-z])/i

/**
 * Without dates, rows are in order of time. A column that names each row in a way that is not known may say otherwise: files
 * with the newest row first would be forecast into the past.
 */
function checkRowsInOrder(
  path: string,
  rows: readonly NumberedRow[],
  columns: readonly string[],
  seriesOf: (row: NumberedRow) => string,
): void {
  const column = columns.find((each) => {
    const texts = rows.map(({ fields }) => fields[each].trim())
    const numbers = texts.map(numberOfText)
    if (numbers.every(Number.isFinite)) {
      const steps = numbers.flatMap((number, n) =>
        n > 0 && seriesOf(rows[n]) === seriesOf(rows[n - 1]) ? [number - numbers[n - 1]] : [],
      )
      // Times in days, or numbers of rows that count down.
      return OF_TIME.test(each)
        ? steps.some((step) => step <= 0)
        : steps.length > 1 && steps.every((step) => step === -1)
    }
    const areNames = new Set(rows.map((row, n) => JSON.stringify([seriesOf(row), texts[n]]))).size === rows.length
    return OF_TIME.test(each) || (areNames && texts.every((text) => /\d/.test(text)))
  })
  if (column === undefined) return
  const text = JSON.stringify(firstText(rows, column))
  const message = `Cannot read ${path} as the order of its rows must be known: column ${column} holds texts such as ${text}, which have no known form of dates. Write them as 2020-04-30, choose a column of dates by --date, or remove the column if the oldest row is the first`
  throw new DataError('ERR_DATA_VALUE', message, { path, column })
}

const MARKS = ['.', ','] as const

function onlyNumericColumn(
  path: string,
  rows: readonly NumberedRow[],
  columns: readonly string[],
  known: readonly string[],
): string {
  const numeric = columns.filter((column) => {
    const text = firstText(rows, column)
    const isNumber = MARKS.some((mark) => Number.isFinite(numberOfText(withPoint(text, mark))))
    // Row numbers under the name of a column, such as id, are no values to forecast.
    return (
      isNumber && ![0, 1].some((first) => rows.every(({ fields }, n) => numberOfText(fields[column]) === first + n))
    )
  })
  const [column] = numeric
  if (column !== undefined && numeric.length === 1) return column
  throw codedRangeError(
    'ERR_VALUE_COLUMN',
    `Cannot choose the column to forecast as ${path} must have one of numbers: it has ${numeric.length} among ${known.join(', ')}. Name it by --value`,
    { path, numeric },
  )
}

/** The first text that is not missing; empty if all are. */
function firstText(rows: readonly NumberedRow[], column: string): string {
  return rows.find(({ fields }) => !isMissing(fields[column]))?.fields[column].trim() ?? ''
}

function numberColumns({ value, covariates, knownAhead }: SeriesColumns): string[] {
  return [value, ...covariates, ...knownAhead]
}

/** How many times as many gaps the other reading of dates must leave. */
const DECIDED = 10

/** The axis of each series, in the one form of dates that fits the whole column. */
function axesOf(
  path: string,
  groups: readonly (readonly NumberedRow[])[],
  rows: readonly NumberedRow[],
  { date: column, series }: SeriesColumns,
): readonly TimeAxis[] | undefined {
  if (column === undefined) return undefined
  const refused = (row: number, rule: string) => {
    const message = `Cannot read ${path} as ${rule}: current value of row ${row}, column ${column} is ${JSON.stringify(rows[row - 2].fields[column])}`
    return new DataError('ERR_DATA_VALUE', message, { path, row, column })
  }
  const read = readDates(rows.map(({ fields }) => fields[column]))
  if (typeof read === 'number') {
    throw refused(
      rows[read].row,
      'dates must have one form, such as 2020-04-30, 30.4.2020, 4/30/2020 or 2020-04-30 13:00',
    )
  }
  const readings = read.map((dates) => groups.map((group) => timeAxis(rowsOf(dates, group))))
  const whole = readings.filter((axes): axes is TimeAxis[] => axes.every((axis) => 'places' in axis))
  const costs = whole.map((axes) => axes.reduce((sum, { irregular }) => sum + irregular, 0))
  // A reading that is not an axis may be the right one, of irregular dates.
  const others = new Array<number>(readings.length - whole.length).fill(MAX_SPARSITY * rows.length)
  const [best, second] = [...costs, ...others].toSorted((a, b) => a - b)
  if (whole.length > 0 && second <= DECIDED * best) {
    throw refused(rows[0].row, 'it must be clear which number of a date is the day: write them as 2020-04-30')
  }
  if (whole.length > 0) return whole[costs.indexOf(best)]
  const group = readings[0].findIndex((axis) => 'reason' in axis)
  const axis = readings[0][group]
  if (!('reason' in axis)) throw new Error('an axis is whole or has a reason')
  const [before, after] = axis.rows.map((index) => groups[group][index].row)
  const hint = series === undefined ? '. A file of several series needs --series <column>' : ''
  throw refused(
    after,
    `dates must be one or a few equal steps apart: those of rows ${before} and ${after} ${axis.reason}${hint}`,
  )
}

/** The dates of some rows. */
function rowsOf({ clocks, offsets, write }: ReadDates, rows: readonly NumberedRow[]): ReadDates {
  const of = (numbers: readonly number[]) => rows.map(({ row }) => numbers[row - 2])
  return { clocks: of(clocks), offsets: offsets && of(offsets), write }
}

function seriesOf(
  path: string,
  name: string,
  rows: readonly NumberedRow[],
  columns: SeriesColumns,
  axis: TimeAxis | undefined,
  marks: ReadonlyMap<string, '.' | ','>,
): Series {
  const { length } = axis ?? rows
  const read = (column: string) => {
    const numbers = new Float64Array(length).fill(Number.NaN)
    for (const [index, { fields, row }] of rows.entries()) {
      if (isMissing(fields[column])) continue
      const text = withPoint(fields[column], marks.get(column))
      numbers[axis?.places[index] ?? index] = finiteNumber({ [column]: text }, column, { path, row })
    }
    return numbers
  }
  const labels = Array.from({ length }, (_, step) => axis?.text(step) ?? String(step + 1))
  // The texts of the file, if it has the row.
  if (axis !== undefined) {
    for (const [index, place] of axis.places.entries()) labels[place] = rows[index].fields[columns.date ?? '']
  }
  const [values, ...others] = numberColumns(columns).map(read)
  const names = [...columns.covariates, ...columns.knownAhead]
  return { name, labels, axis, values, covariates: Object.fromEntries(names.map((column, n) => [column, others[n]])) }
}

function isMissing(text: string): boolean {
  return /^\s*(?:na|n\/a|nan|null)?\s*$/i.test(text)
}
