import { type ForecastShape, seasonalNaive } from './forecast_windows.js'

interface Scale {
  readonly mean: number
  readonly deviation: number
}

/**
 * Encodes windows as inputs and targets of the network. Levels and trends of a series drift out of the range of the training
 * part; the residuals do not. A step is the change over a season less its mean in the window (the trend), the change over one
 * step, and the phase of the season. The target is the error of the seasonal-naive forecast with that trend. All are scaled by
 * mean and deviation of the training part.
 */
export class WindowEncoder {
  readonly shape: ForecastShape
  /** Numbers per step of a window. */
  readonly inputSize: number
  readonly #values: Float64Array
  readonly #seasonal: Scale
  readonly #step: Scale
  readonly #targets: readonly Scale[]

  /** @param trainOrigins the scales follow from them alone. */
  constructor(values: Float64Array, shape: ForecastShape, trainOrigins: readonly number[]) {
    this.shape = shape
    this.inputSize = shape.season > 1 ? 4 : 1
    this.#values = values
    this.#seasonal = scaleOf(trainOrigins.map((origin) => this.#change(origin, shape.season) - this.#trend(origin)))
    this.#step = scaleOf(trainOrigins.map((origin) => this.#change(origin, 1)))
    this.#targets = Array.from({ length: shape.horizon }, (_, k) =>
      scaleOf(trainOrigins.map((origin) => values[origin + k + 1]! - this.#withTrend(origin, k + 1))),
    )
  }

  /** The seasonal-naive forecast `ahead` steps (from 1) after `origin`. */
  naive(origin: number, ahead: number): number {
    return seasonalNaive(this.#values, origin, ahead, this.shape.season)
  }

  /** [W,B,I]: the windows that end at the origins. */
  inputs(origins: readonly number[]): { readonly data: Float32Array; readonly shape: readonly number[] } {
    const { window, season } = this.shape
    const trends = origins.map((origin) => this.#trend(origin))
    const data = new Float32Array(window * origins.length * this.inputSize)
    let place = 0
    for (let t = 0; t < window; t++) {
      for (const [n, origin] of origins.entries()) {
        const index = origin - window + 1 + t
        data[place++] = scaled(this.#change(index, season) - trends[n]!, this.#seasonal)
        if (season === 1) continue
        data[place++] = scaled(this.#change(index, 1), this.#step)
        const phase = (2 * Math.PI * (index % season)) / season
        data[place++] = Math.sin(phase)
        data[place++] = Math.cos(phase)
      }
    }
    return { data, shape: [window, origins.length, this.inputSize] }
  }

  /** [B,horizon]: error of the seasonal-naive forecast with trend, scaled. */
  targets(origins: readonly number[]): { readonly data: Float32Array; readonly shape: readonly number[] } {
    const { horizon } = this.shape
    const data = origins.flatMap((origin) =>
      this.#targets.map((scale, k) => scaled(this.#values[origin + k + 1]! - this.#withTrend(origin, k + 1), scale)),
    )
    return { data: Float32Array.from(data), shape: [origins.length, horizon] }
  }

  /** Forecasts in the series' own unit from the network's output for `origin`. */
  decode(origin: number, outputs: ArrayLike<number>): number[] {
    return this.#targets.map(
      ({ mean, deviation }, k) => this.#withTrend(origin, k + 1) + mean + deviation * outputs[k]!,
    )
  }

  #withTrend(origin: number, ahead: number): number {
    return this.naive(origin, ahead) + Math.ceil(ahead / this.shape.season) * this.#trend(origin)
  }

  /** Mean change over a season, over the window. */
  #trend(origin: number): number {
    const { window, season } = this.shape
    let sum = 0
    for (let index = origin - window + 1; index <= origin; index++) sum += this.#change(index, season)
    return sum / window
  }

  #change(index: number, lag: number): number {
    return this.#values[index]! - this.#values[index - lag]!
  }
}

function scaleOf(values: readonly number[]): Scale {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
  // A constant series has no spread and is not scaled.
  return { mean, deviation: Math.sqrt(variance) || 1 }
}

function scaled(value: number, { mean, deviation }: Scale): number {
  return (value - mean) / deviation
}
