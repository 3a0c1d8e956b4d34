import { codedRangeError } from '../coded_error.js'

/** Sizes of input and target windows; all in steps of the series. */
export interface ForecastShape {
  /** Steps read before the origin. */
  readonly window: number
  /** Steps foretold after it. */
  readonly horizon: number
  /** Length of the season; 1 for none. */
  readonly season: number
  /** Held out at the end, never trained on; as many steps before it decide early stopping and the width of the interval. */
  readonly heldOut: number
}

/** Origins (index of the last value that is known) of each part: all values foretold lie in the part. */
export interface Origins {
  readonly train: readonly number[]
  readonly calibration: readonly number[]
  readonly test: readonly number[]
}

/** Throws RangeError `ERR_SERIES_TOO_SHORT` when a part has no origin. */
export function splitOrigins(length: number, { window, horizon, season, heldOut }: ForecastShape): Origins {
  const first = window + season - 1
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
    `Cannot forecast as a series must have ${needed} values for a window of ${window}, a season of ${season}, a horizon of ${horizon} and ${heldOut} held out twice: current length is ${length}`,
    { length, needed },
  )
}

/** The value one season, or as many as it takes, before step `ahead` (from 1) after `origin`. */
export function seasonalNaive(values: Float64Array, origin: number, ahead: number, season: number): number {
  return values[origin + ahead - season * Math.ceil(ahead / season)]!
}
