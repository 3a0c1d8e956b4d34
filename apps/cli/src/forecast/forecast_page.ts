import {
  escapeHtml,
  htmlPage,
  lineChart,
  type ResultTable,
  settingsHtml,
  tableHtml,
  trainingSections,
} from '@cudnn-rnn/report'
import type { GateWeights } from '@cudnn-rnn/rnn/train'
import { executorName } from '../executor_line.js'
import { forecastErrors } from './backtest.js'
import { forecastAdvice } from './forecast_advice.js'
import { COVERAGE, type ForecastResult, type ForecastRun } from './forecast_run.js'
import { futureDates, parsedDates } from './future_dates.js'

/** How many steps before the held-out part the chart begins, in held-out parts. */
const CONTEXT = 0.5

/** Model, errors, and how much of the seasonal-naive error is gone, in a table that an outsider can read. */
export function forecastTable({ backtests }: ForecastResult): ResultTable {
  const errors = backtests.map(forecastErrors)
  const naive = errors.at(-1)!.mae
  const best = errors.findIndex(({ mae }) => mae === Math.min(...errors.map((one) => one.mae)))
  return {
    header: ['forecaster', 'mean absolute error', 'root mean squared error', 'against seasonal naive'],
    rows: backtests.map(({ name }, index) => {
      const { mae, rmse } = errors[index]!
      const against = index === backtests.length - 1 ? '' : difference(mae, naive)
      return [name, mae.toPrecision(4), rmse.toPrecision(4), against]
    }),
    best,
    ours: 0,
  }
}

/** By how much `mae` is above or below `naive`: in percent, or in the series' unit where `naive` is 0, as of a constant series. */
function difference(mae: number, naive: number): string {
  if (mae === naive) return '±0.0 %'
  const change = naive === 0 ? mae.toPrecision(2) : `${Math.abs((100 * (mae - naive)) / naive).toFixed(1)} %`
  return `${mae > naive ? '+' : '−'}${change}`
}

/** `15.2 % below the seasonal-naive forecast's 3.88`, as the end of a sentence. */
function verdict(mae: number, naive: number): string {
  if (naive === 0)
    return mae === 0 ? 'as exact as the seasonal-naive forecast' : 'where the seasonal-naive forecast is exact'
  const change = (100 * (naive - mae)) / naive
  const side = change >= 0 ? 'below' : 'above'
  return `${Math.abs(change).toFixed(1)} % ${side} the seasonal-naive forecast's ${naive.toPrecision(3)}`
}

/** The report of a run: forecast and interval, errors, training, settings. */
export function forecastPage(run: ForecastRun, result: ForecastResult, gates: readonly GateWeights[]): string {
  const { series, settings, origins, backend } = run
  const { training, backtests, coverage } = result
  const [network, linear, naive] = backtests.map(forecastErrors)
  const { window, horizon, season, heldOut } = settings.shape
  return htmlPage({
    title: `A forecast of ${series.name}`,
    resultHtml: `<b>Mean absolute error ${network!.mae.toPrecision(3)}</b>, ${horizon} steps ahead, on ${heldOut} values it never saw: ${verdict(network!.mae, naive!.mae)}. Linear regression has ${linear!.mae.toPrecision(3)}.`,
    sections: [
      { heading: 'Forecast', html: forecastChart(run, result) },
      {
        heading: 'Backtest',
        html: `${tableHtml(forecastTable(result))}
<p>Every forecaster predicted ${horizon} steps from each of ${origins.test.length} origins. The ${100 * COVERAGE} % interval, as wide as errors were before the held-out part, held ${(100 * coverage).toFixed(0)} % of the held-out values.</p>${adviceHtml(run, result)}`,
      },
      ...trainingSections({
        reports: training.reports,
        lossLabel: 'scaled squared error',
        metric: 'loss',
        metricLabel: 'calibration part',
        itemsPerStep: settings.batch,
        itemName: 'windows',
        gates,
      }),
      {
        heading: 'Settings',
        html: settingsHtml([
          [
            'Series',
            `${series.name}, column ${series.column}: ${series.values.length} values from ${series.dates[0]} to ${series.dates.at(-1)}`,
          ],
          [
            'Parts',
            `${origins.train.length} windows to learn from; ${heldOut} values to stop by and to measure the interval; ${heldOut} held out`,
          ],
          [
            'Model',
            `${window} steps → Cudnn${settings.sizes.cell.toUpperCase()} ${settings.sizes.numLayers} × ${settings.sizes.numUnits} → linear → ${horizon} steps; season ${season}`,
          ],
          [
            'Training',
            `${training.step} of at most ${settings.steps} steps of ${settings.batch} windows, Adam at ${settings.learningRate}; best at step ${training.best?.step}`,
          ],
          ['Executor', executorName(backend)],
          ['Seed', String(settings.seed)],
        ]),
      },
    ],
  })
}

function forecastChart(
  { series, settings }: ForecastRun,
  { backtests, testOrigins, widths, future }: ForecastResult,
): string {
  const { values, dates } = series
  const { horizon, heldOut } = settings.shape
  const known = parsedDates(dates)
  const later = known && futureDates(dates, horizon)
  const x = (index: number) => known?.[index] ?? later?.[index - values.length] ?? index
  const from = Math.max(0, Math.floor(values.length - heldOut * (1 + CONTEXT)))
  const line = (entries: readonly (readonly [number, number])[]) => entries.map(([index, y]) => ({ x: x(index), y }))
  // Origins one horizon apart, so that every held-out value is foretold once.
  const chosen = testOrigins.map((_, n) => n).filter((n) => n % horizon === 0)
  // Each forecast is a line of its own, from the last value known on: a gap stands before it.
  const forecastFrom = (origin: number, forecast: readonly number[]) => [
    { x: x(origin), y: Number.NaN, width: Number.NaN },
    { x: x(origin), y: values[origin]!, width: 0 },
    ...forecast.map((y, k) => ({ x: x(origin + k + 1), y, width: widths[k]! })),
  ]
  const predicted = (which: number) =>
    chosen.flatMap((n) => forecastFrom(testOrigins[n]!, backtests[which]!.forecasts[n]!))
  const network = [...predicted(0), ...forecastFrom(values.length - 1, future)]
  const actual = Array.from(values.subarray(from), (y, k) => [from + k, y] as const)
  const chart = lineChart({
    x: known === undefined ? 'row' : 'date',
    y: series.column,
    height: 420,
    bands: network.map(({ x, y, width }) => ({ x, low: y - width, high: y + width })),
    series: [
      { label: 'actual values', color: 'var(--ink)', points: line(actual) },
      { label: 'seasonal naive', color: 'var(--baseline)', points: predicted(2) },
      {
        label: `${backtests[0].name} with its ${100 * COVERAGE} % interval`,
        color: 'var(--ours)',
        points: network,
      },
    ],
  })
  return `${chart}\n<p>Each line is one forecast: it begins at the last value that was known and goes ${horizon} steps ahead, where the next one begins. The last one lies after the end of the series.</p>`
}

function adviceHtml(run: ForecastRun, result: ForecastResult): string {
  const advice = forecastAdvice(run, result)
  if (advice === undefined) return ''
  const items = advice.tries.map((text) => `<li>${escapeHtml(text)}</li>`)
  return `\n<p>The network loses to <b>${advice.instead}</b>: use that, or try a run with</p>\n<ul>${items.join('')}</ul>`
}
