import {
  arrayTypeOf,
  checkArguments,
  codedRangeError,
  describeValue,
  fields,
  isFloatArray,
  kind,
  listOf,
  optional,
  recordOf,
  TEXT,
  wasTransferred,
} from '@cudnn-rnn/canonical/rules'

/** A series of equal steps. */
export interface TimeSeries {
  /** For messages. */
  readonly name?: string | undefined
  /** One for each step; NaN if a value is missing. */
  readonly values: ArrayLike<number>
  /** The date of each step, from which the forecaster reads weekdays and seasons of the year. */
  readonly dates?: readonly Date[] | undefined
  /**
   * Other numbers by name, one for each step and NaN if one is missing; those that are known ahead also for the steps that
   * are to be forecast.
   */
  readonly covariates?: Readonly<Record<string, ArrayLike<number>>> | undefined
}

/** A name of a covariate, and how it is read. */
export interface CovariateOption {
  readonly name: string
  /** Whether it is known for the steps that are forecast, as a price or a holiday is. Default false. */
  readonly isKnownAhead?: boolean | undefined
}

export const NUMBERS = kind('an array of numbers', isNumbers)
export const DATES = listOf(
  kind('a Date', (value): value is Date => value instanceof Date && !Number.isNaN(value.getTime())),
)

const TIME_SERIES = fields({
  name: optional(TEXT),
  values: NUMBERS,
  dates: optional(DATES),
  covariates: optional(recordOf(NUMBERS)),
})

function isNumbers(value: unknown): value is ArrayLike<number> {
  if (isFloatArray(value) || arrayTypeOf(value) === 'Int32Array') return !wasTransferred(value as Int32Array)
  return Array.isArray(value) && value.every((each) => typeof each === 'number')
}

/** The squares of their sums are numbers, too. */
export const MAGNITUDES = { least: 1e-100, most: 1e100 }

/**
 * Throws TypeError `ERR_INVALID_ARGUMENT`; RangeError `ERR_SERIES` for a series without values, with infinite or huge ones,
 * with tiny ones alone, or with another number of dates.
 */
export function checkTimeSeries(action: string, series: TimeSeries): void {
  checkArguments(action, { series }, { series: TIME_SERIES })
  const { values, dates } = series
  const place = placeOf(series)
  if (dates !== undefined && dates.length !== values.length) {
    throw seriesError(action, `${place} must have one date for each of its ${values.length} values`, dates.length)
  }
  const infinite = Array.from(values).findIndex((value) => Math.abs(value) === Number.POSITIVE_INFINITY)
  if (infinite >= 0) {
    throw seriesError(
      action,
      `value ${infinite} of ${place} must be finite, or NaN where it is missing`,
      values[infinite],
    )
  }
  const largest = Array.from(values).reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0)
  if (largest !== 0 && !(largest >= MAGNITUDES.least && largest <= MAGNITUDES.most)) {
    const rule = `the largest value of ${place} must be 0 or from ${MAGNITUDES.least} to ${MAGNITUDES.most} in magnitude`
    throw seriesError(action, rule, largest)
  }
  if (lastKnown(values) < 0) throw seriesError(action, `${place} must have values`, 'none')
}

/** Index of the last value that is not missing; -1 for none. */
export function lastKnown(values: ArrayLike<number>): number {
  let last = values.length - 1
  while (last >= 0 && Number.isNaN(values[last])) last--
  return last
}

/** "series north", or "the series"; a file of one series has an empty name. */
export function placeOf({ name = '' }: TimeSeries): string {
  return name === '' ? 'the series' : `series ${name}`
}

function seriesError(action: string, rule: string, value: unknown) {
  return codedRangeError('ERR_SERIES', `Cannot ${action} as ${rule}: current value is ${describeValue(value)}`, {
    value,
  })
}
