/** Forecasts from rolling origins: `forecasts[n][k]` foretells `actuals[n][k]`. */
export interface Backtest {
  readonly name: string
  readonly forecasts: readonly (readonly number[])[]
  readonly actuals: readonly (readonly number[])[]
}

export interface ForecastErrors {
  /** Mean absolute error, in the series' unit. */
  readonly mae: number
  /** Root of the mean squared error, in the series' unit. */
  readonly rmse: number
}

/** Errors over all origins and steps ahead. */
export function forecastErrors({ forecasts, actuals }: Backtest): ForecastErrors {
  const errors = forecasts.flatMap((forecast, n) => forecast.map((value, k) => value - actuals[n]![k]!))
  const mean = (value: (error: number) => number) =>
    errors.reduce((sum, error) => sum + value(error), 0) / errors.length
  return { mae: mean(Math.abs), rmse: Math.sqrt(mean((error) => error ** 2)) }
}

/** Half the width of an interval at each step ahead. */
export type IntervalWidths = readonly number[]

/**
 * Split conformal prediction (Papadopoulos et al. 2002): the ⌈(n+1)·coverage⌉-th smallest absolute error of a
 * calibration part at each step ahead; future values lie within it as often if the distribution of errors does not change.
 */
export function intervalWidths({ forecasts, actuals }: Backtest, coverage: number): IntervalWidths {
  const count = forecasts.length
  const place = Math.min(count, Math.ceil((count + 1) * coverage)) - 1
  return forecasts[0]!.map((_, k) => {
    const errors = forecasts.map((forecast, n) => Math.abs(forecast[k]! - actuals[n]![k]!))
    return errors.toSorted((a, b) => a - b)[place]!
  })
}

/** The share of actual values that lie within the interval. */
export function coverageOf({ forecasts, actuals }: Backtest, widths: IntervalWidths): number {
  const within = forecasts.flatMap((forecast, n) =>
    forecast.map((value, k) => (Math.abs(value - actuals[n]![k]!) <= widths[k]! ? 1 : 0)),
  )
  return within.reduce<number>((sum, hit) => sum + hit, 0) / within.length
}
