import {
  checkArguments,
  codedRangeError,
  fields,
  integerFrom,
  type OptionsOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import { placeOf, type TimeSeries } from './time_series.js'

const COUNT = optional(integerFrom(1))

export const SHAPE_OPTIONS = {
  /** Steps read before the origin. */
  window: optional(integerFrom(2)),
  /** Steps that are forecast after it. */
  horizon: optional(COUNT),
  /** Length of the season; 1 for none. */
  season: optional(COUNT),
  /** Held out at the end, never trained on; as many steps before it decide early stopping and the width of the interval. */
  heldOut: optional(COUNT),
}

export interface ForecastShapeOptions extends OptionsOf<typeof SHAPE_OPTIONS> {}

/** Sizes of input and target windows; all in steps of the series. */
export type ForecastShape = { readonly [Name in keyof typeof SHAPE_OPTIONS]: number }

/** Origins (index of the last value that is known) of each part: all values that are forecast are in the part. */
export interface Origins {
  readonly train: readonly number[]
  readonly calibration: readonly number[]
  readonly test: readonly number[]
}

/** The first origin with a whole window and a season before it. */
export function firstOrigin({ window, season }: Pick<ForecastShape, 'window' | 'season'>): number {
  return window + season - 1
}

/** The origins of each part of a series of `length` values. Throws RangeError `ERR_SERIES_TOO_SHORT` when a part has none. */
export function splitOrigins(length: number, shape: ForecastShape, series: TimeSeries = { values: [] }): Origins {
  const { window, horizon, season, heldOut } = shape
  const first = firstOrigin(shape)
  const test = length - heldOut
  const calibration = test - heldOut
  const range = (from: number, to: number) => Array.from({ length: Math.max(0, to - from) }, (_, k) => from + k)
  const origins = {
    train: range(first, calibration - horizon),
    calibration: range(Math.max(first, calibration - 1), test - horizon),
    test: range(test - 1, length - horizon),
  }
  if (Object.values(origins).every((part) => part.length > 0)) return origins
  const needed = first + 2 * heldOut + horizon + 1
  throw codedRangeError(
    'ERR_SERIES_TOO_SHORT',
    `Cannot forecast as ${placeOf(series)} must have ${needed} values for a window of ${window}, a season of ${season}, a horizon of ${horizon} and ${heldOut} held out twice: current length is ${length}`,
    { length, needed },
  )
}

/** The value one season, or as many as it takes, before step `ahead` (from 1) after `origin`. */
export function seasonalNaive(values: ArrayLike<number>, origin: number, ahead: number, season: number): number {
  return values[origin + ahead - season * Math.ceil(ahead / season)]
}

const GIVEN = fields(SHAPE_OPTIONS)

/**
 * Sizes for a series of `length` values that repeats after `season` steps, of which those given stay.
 *
 * @example
 * ```ts
 * import { usualShape } from '@cudnn-rnn/rnn/tasks'
 *
 * console.log(usualShape(120, 12, { horizon: 6 })) // { window: 24, horizon: 6, season: 12, heldOut: 20 }
 * ```
 */
export function usualShape(length: number, season: number, given: ForecastShapeOptions = {}): ForecastShape {
  const action = 'choose the sizes of windows'
  checkArguments(action, { length, season, given }, { length: COUNT, season: COUNT, given: GIVEN })
  const { horizon = season * Math.ceil(12 / season) } = given
  const { heldOut = Math.max(horizon, Math.min(6 * horizon, Math.floor(length / 6))) } = given
  // Three seasons, and at least 24 steps; fewer if no windows would be left to learn from.
  const most = season === 1 ? 24 : season * Math.max(3, Math.ceil(24 / season))
  const free = length - 2 * heldOut - horizon - season
  const seasons = Math.max(1, Math.min(most / season, Math.floor(free / 2 / season)))
  return { window: given.window ?? Math.max(2, season * seasons), horizon, season, heldOut }
}
