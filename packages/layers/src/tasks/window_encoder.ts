import { CALENDAR_SIZES } from './calendar.js'
import { type ForecastShape, seasonalNaive } from './forecast_windows.js'
import type { PreparedSeries, SeriesEncoding } from './prepared_series.js'

/** A place of a series from which steps ahead are forecast. */
export interface WindowPlace {
  readonly series: PreparedSeries
  /** Index of the last value that is known. */
  readonly origin: number
}

/** Simple forecasts from which better ones are a small step away. */
export const ANCHORS = ['last', 'seasonal_naive', 'seasonal_mean'] as const
export type Anchor = (typeof ANCHORS)[number]

/**
 * Windows as the inputs of networks and of linear regression. Values are taken relative to the last one and scaled by the
 * deviation of their window, so that level, unit and trend of a series do not matter; one forecaster serves several series.
 */
export class WindowEncoder {
  readonly shape: Pick<ForecastShape, 'window' | 'horizon' | 'season'>
  /** I: numbers per step of a window. */
  readonly inputSize: number
  readonly #encoding: SeriesEncoding

  constructor(shape: Pick<ForecastShape, 'window' | 'horizon' | 'season'>, encoding: SeriesEncoding) {
    this.shape = shape
    this.#encoding = encoding
    const ahead = encoding.covariates.filter(({ isKnownAhead }) => isKnownAhead).length
    // The value, whether it is known, the covariates, those that are known ahead a horizon later, and the calendar.
    this.inputSize = 2 + encoding.covariates.length + ahead + CALENDAR_SIZES[encoding.calendar]
  }

  /** Deviation of the values of a window; 1 if all are equal. */
  scale({ series, origin }: WindowPlace): number {
    const window = series.values.subarray(origin - this.shape.window + 1, origin + 1)
    if (window.every((value) => value === window[0])) return 1
    const mean = window.reduce((sum, value) => sum + value, 0) / window.length
    // The squares of differences below 1e-162 are 0.
    return Math.sqrt(window.reduce((sum, value) => sum + (value - mean) ** 2, 0) / window.length) || 1
  }

  /** [W,B,I]: the windows that end at the places. */
  inputs(places: readonly WindowPlace[]): { readonly data: Float32Array; readonly shape: readonly number[] } {
    const { window, horizon } = this.shape
    const scales = places.map((place) => this.scale(place))
    const data = new Float32Array(window * places.length * this.inputSize)
    let next = 0
    for (let t = 0; t < window; t++) {
      for (const [row, { series, origin }] of places.entries()) {
        const index = origin - window + 1 + t
        data[next++] = (series.values[index] - series.values[origin]) / scales[row]
        data[next++] = series.isKnown[index]
        for (const [n, { isKnownAhead }] of this.#encoding.covariates.entries()) {
          data[next++] = series.covariates[n][index]
          if (isKnownAhead) data[next++] = series.covariates[n][index + horizon]
        }
        for (const number of series.calendar[index]) data[next++] = number
      }
    }
    return { data, shape: [window, places.length, this.inputSize] }
  }

  /** The numbers that linear regression reads: the window, its covariates and those ahead, calendar, and a constant. */
  linearInputs({ series, origin }: WindowPlace): number[] {
    const { window, horizon } = this.shape
    const scale = this.scale({ series, origin })
    const last = series.values[origin]
    const values = Array.from(series.values.subarray(origin - window + 1, origin), (value) => (value - last) / scale)
    const covariates = this.#encoding.covariates.flatMap(({ isKnownAhead }, n) =>
      Array.from(series.covariates[n].subarray(origin - window + 1, origin + 1 + (isKnownAhead ? horizon : 0))),
    )
    return [...values, ...covariates, ...series.calendar[origin], 1]
  }

  /** The forecast of an anchor `ahead` steps (from 1) after the origin. */
  anchor(anchor: Anchor, { series, origin }: WindowPlace, ahead: number): number {
    const { window, season } = this.shape
    const { values } = series
    if (anchor === 'last') return values[origin]
    if (anchor === 'seasonal_naive') return seasonalNaive(values, origin, ahead, season)
    let [sum, count] = [0, 0]
    for (let index = origin + ahead - season * Math.ceil(ahead / season); index > origin - window; index -= season) {
      sum += values[index]
      count++
    }
    return count === 0 ? seasonalNaive(values, origin, ahead, season) : sum / count
  }

  /** The values that came; NaN if they are missing. */
  actuals({ series, origin }: WindowPlace): number[] {
    return Array.from({ length: this.shape.horizon }, (_, k) => {
      const index = origin + 1 + k
      return series.isKnown[index] === 1 ? series.values[index] : Number.NaN
    })
  }
}
