import { lineChart } from '@cudnn-rnn/rnn/report'
import type { Forecast } from '@cudnn-rnn/rnn/tasks'
import type { Series } from './series.js'

/** How many steps before the first forecast the chart begins, in held-out parts. */
const CONTEXT = 0.5

/** A phone shows so many horizons of the held-out part. */
const NARROW_HORIZONS = 2

/** A chart without a backtest shows so many horizons before the forecast. */
const HORIZONS = 6

export interface ChartedForecasts {
  readonly series: Series
  /** From earlier origins, in their order. */
  readonly forecasts: readonly Forecast[]
  readonly future: Forecast | undefined
}

interface ChartOptions {
  /** Name of the value's column. */
  readonly column: string
  readonly shape: { readonly horizon: number }
  readonly coverage: number
}

/** A series with its forecasts, and below it the covariates, as HTML. */
export function forecastChart(
  { series, forecasts, future }: ChartedForecasts,
  { column, shape: { horizon }, coverage }: ChartOptions,
): string {
  const { values, axis, covariates } = series
  const x = (index: number) => axis?.date(index) ?? index
  const first = forecasts[0]?.origin ?? values.length - HORIZONS * horizon
  const from = Math.max(0, Math.floor(first - CONTEXT * (values.length - first)))
  // Origins a horizon apart, so that no value is forecast twice.
  const chosen: number[] = []
  for (const [n, { origin }] of forecasts.entries()) {
    const before = chosen.at(-1)
    if (before === undefined || origin >= forecasts[before].origin + horizon) chosen.push(n)
  }
  // Each forecast is a separate line that starts at the last known value: a gap precedes it.
  const points = (origin: number, forecast: readonly number[]) => [
    { x: x(origin), y: Number.NaN },
    { x: x(origin), y: values[origin] },
    ...forecast.map((y, k) => ({ x: x(origin + k + 1), y })),
  ]
  const shown = [...chosen.map((n) => forecasts[n]), ...(future === undefined ? [] : [future])]
  const start = (index: number, text: string) => ({ x: x(index), text })
  const xLabel = axis === undefined ? 'row' : 'date'
  const last = future?.origin ?? values.length - 1
  const narrowFrom = x(Math.max(from, last - NARROW_HORIZONS * horizon))
  const chart = lineChart({
    ...{ x: xLabel, y: column, height: 420, narrowFrom },
    starts: [
      ...(forecasts.length === 0 ? [] : [start(first, 'held out from here')]),
      ...(future === undefined ? [] : [start(future.origin, 'future from here')]),
    ],
    bands: shown.flatMap(({ origin, low, high }) => [
      { x: x(origin), low: Number.NaN, high: Number.NaN },
      { x: x(origin), low: values[origin], high: values[origin] },
      ...low.map((each, k) => ({ x: x(origin + k + 1), low: each, high: high[k] })),
    ]),
    // Actual values lie over the forecasts.
    series: [
      {
        ...{ label: 'seasonal naive', color: 'var(--baseline)', thin: true },
        points: chosen.flatMap((n) => points(forecasts[n].origin, forecasts[n].seasonalNaive)),
      },
      {
        ...{ label: `forecast with its ${100 * coverage} % interval`, color: 'var(--ours)' },
        points: shown.flatMap(({ origin, values: forecast }) => points(origin, forecast)),
      },
      {
        ...{ label: 'actual values', color: 'var(--ink)', thin: true },
        points: Array.from(values.subarray(from), (y, k) => ({ x: x(from + k), y })),
      },
    ],
  })
  const below = Object.entries(covariates).map(([label, numbers]) => {
    const points = Array.from(numbers.subarray(from, last + horizon + 1), (y, k) => ({ x: x(from + k), y }))
    const series = [{ label, color: 'var(--second)', points }]
    return lineChart({ x: xLabel, y: label, height: 150, narrowFrom, series })
  })
  return [chart, ...below].join('\n')
}
