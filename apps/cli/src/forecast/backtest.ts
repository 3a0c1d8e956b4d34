/** Forecasts from rolling origins: `forecasts[n][k]` is compared with `actuals[n][k]`, which is NaN if it is missing. */
export interface Backtest {
  readonly name: string
  readonly forecasts: readonly (readonly number[])[]
  readonly actuals: readonly (readonly number[])[]
}

/** The name of the forecaster without its network. It is not a separate forecaster that could be used instead. */
export const LINEAR_PART = 'linear part alone'

export interface ForecastErrors {
  /** Mean absolute error, in the series' unit. */
  readonly mae: number
  /** Root of the mean squared error, in the series' unit. */
  readonly rmse: number
}

/** Errors over all origins and steps ahead. */
export function forecastErrors({ forecasts, actuals }: Backtest): ForecastErrors {
  const errors = forecasts
    .flatMap((forecast, n) => forecast.map((value, k) => value - actuals[n][k]))
    .filter((error) => !Number.isNaN(error))
  const mean = (value: (error: number) => number) =>
    errors.reduce((sum, error) => sum + value(error), 0) / errors.length
  return { mae: mean(Math.abs), rmse: Math.sqrt(mean((error) => error ** 2)) }
}

/** The share of actual values within their interval. */
export function coverageOf(
  forecasts: readonly { readonly low: readonly number[]; readonly high: readonly number[] }[],
  actuals: readonly (readonly number[])[],
): number {
  let [within, total] = [0, 0]
  for (const [n, { low, high }] of forecasts.entries()) {
    for (const [k, actual] of actuals[n].entries()) {
      if (Number.isNaN(actual)) continue
      total++
      if (low[k] <= actual && actual <= high[k]) within++
    }
  }
  return within / total
}
