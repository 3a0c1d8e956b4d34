import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { type Calendar, calendarFeatures, usualStep } from './calendar.js'
import { fillMissing } from './missing_values.js'
import { lastKnown, MAGNITUDES, placeOf, type TimeSeries } from './time_series.js'

/** A covariate as a forecaster reads it: scaled by mean and deviation of the training part. */
export interface Covariate {
  readonly name: string
  readonly isKnownAhead: boolean
  readonly mean: number
  readonly deviation: number
}

/** How a series becomes numbers. */
export interface SeriesEncoding {
  readonly season: number
  readonly horizon: number
  readonly calendar: Calendar
  readonly covariates: readonly Covariate[]
}

/** A series up to its last value, without gaps. */
export interface PreparedSeries {
  /** With missing values filled in. */
  readonly values: Float64Array
  /** 1 if a value was there, 0 if it was filled in. */
  readonly isKnown: Uint8Array
  /** By covariate, scaled; those that are known ahead also of the steps after the last value. */
  readonly covariates: readonly Float64Array[]
  /** By step, of the calendar. */
  readonly calendar: readonly (readonly number[])[]
}

/**
 * @param isAheadNeeded whether steps after the last value are to be forecast; else covariates need not reach beyond it.
 * @throws RangeError `ERR_COVARIATES` for one that is missing or too short, `ERR_SERIES` for dates that are
 */
export function prepareSeries(series: TimeSeries, encoding: SeriesEncoding, isAheadNeeded: boolean): PreparedSeries {
  const length = lastKnown(series.values) + 1
  const known = Float64Array.from({ length }, (_, index) => series.values[index])
  return {
    values: fillMissing(known, encoding.season),
    isKnown: Uint8Array.from(known, (value) => (Number.isNaN(value) ? 0 : 1)),
    covariates: encoding.covariates.map((covariate) =>
      scaledCovariate(series, covariate, length, isAheadNeeded ? encoding.horizon : 0),
    ),
    calendar: calendarRows(series, encoding, length),
  }
}

/** A covariate's numbers without gaps, not scaled. */
export function covariateValues(
  series: TimeSeries,
  { name, isKnownAhead }: Pick<Covariate, 'name' | 'isKnownAhead'>,
  length: number,
  stepsAhead: number,
): Float64Array {
  const needed = length + (isKnownAhead ? stepsAhead : 0)
  const given = series.covariates?.[name]
  const place = placeOf(series)
  if (given === undefined || given.length < needed) {
    const ahead = needed > length ? `: ${length} steps up to its last value and ${stepsAhead} steps ahead` : ''
    throw codedRangeError(
      'ERR_COVARIATES',
      `Cannot forecast as ${place} must have ${needed} numbers in covariates.${name}${ahead}: current number is ${given?.length ?? 0}`,
      { covariate: name, needed, length: given?.length ?? 0 },
    )
  }
  const filled = fillMissing(
    Float64Array.from({ length: needed }, (_, index) => given[index]),
    1,
  )
  if (filled.every((value) => Math.abs(value) <= MAGNITUDES.most)) return filled
  throw codedRangeError(
    'ERR_COVARIATES',
    `Cannot forecast as the covariate ${name} of ${place} must have numbers of a magnitude up to ${MAGNITUDES.most}: current numbers are all missing, or some are larger`,
    { covariate: name },
  )
}

function scaledCovariate(series: TimeSeries, covariate: Covariate, length: number, stepsAhead: number): Float64Array {
  const { mean, deviation } = covariate
  return covariateValues(series, covariate, length, stepsAhead).map((value) => (value - mean) / deviation)
}

function calendarRows(series: TimeSeries, { calendar }: SeriesEncoding, length: number): number[][] {
  if (calendar === 'none') return Array.from({ length }, () => [])
  const { dates } = series
  if (dates !== undefined && dates.length >= length && usualStep(dates) > 0) {
    return Array.from({ length }, (_, index) => calendarFeatures(calendar, dates[index]))
  }
  throw codedRangeError(
    'ERR_SERIES',
    `Cannot forecast as ${placeOf(series)} must have a date for each value: the forecaster was trained with dates, current number is ${dates?.length ?? 0}`,
    { value: dates?.length ?? 0 },
  )
}
