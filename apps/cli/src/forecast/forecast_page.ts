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
import { forecastErrors } from './backtest.js'
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
      const change = (100 * (mae - naive)) / naive
      return [
        name,
        mae.toPrecision(4),
        rmse.toPrecision(4),
        index === backtests.length - 1 ? '' : `${change > 0 ? '+' : '−'}${Math.abs(change).toFixed(1)} %`,
      ]
    }),
    best,
  }
}

/** The report of a run: forecast and interval, errors, training, settings. */
export function forecastPage(run: ForecastRun, result: ForecastResult, gates: readonly GateWeights[]): string {
  const { series, settings, origins, backend } = run
  const { training, backtests, coverage } = result
  const [network, linear, naive] = backtests.map(forecastErrors)
  const change = (100 * (naive!.mae - network!.mae)) / naive!.mae
  const verdict = change > 0 ? `${change.toFixed(1)} % below` : `${(-change).toFixed(1)} % above`
  const { window, horizon, season, heldOut } = settings.shape
  return htmlPage({
    title: `A forecast of ${series.name}`,
    resultHtml: `<b>Mean absolute error ${network!.mae.toPrecision(3)}</b>, ${horizon} steps ahead, on ${heldOut} values it never saw: ${verdict} the seasonal-naive forecast's ${naive!.mae.toPrecision(3)}. Linear regression has ${linear!.mae.toPrecision(3)}.`,
    sections: [
      { heading: 'Forecast', html: forecastChart(run, result) },
      {
        heading: 'Backtest',
        html: `${tableHtml(forecastTable(result))}
<p>Every forecaster foretold ${horizon} steps from each of ${origins.test.length} origins. The ${100 * COVERAGE} % interval, as wide as errors were before the held-out part, held ${(100 * coverage).toFixed(0)} % of what came.</p>`,
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
          ['Executor', backend.reason],
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
  const foretold = (which: number) =>
    chosen.flatMap((n) => backtests[which]!.forecasts[n]!.map((y, k) => [testOrigins[n]! + k + 1, y] as const))
  const ahead = future.map((y, k) => [values.length + k, y] as const)
  const band = [...foretold(0), ...ahead].map(([index, y], n) => {
    const width = widths[n % horizon]!
    return { x: x(index), low: y - width, high: y + width }
  })
  const actual = Array.from(values.subarray(from), (y, k) => [from + k, y] as const)
  const chart = lineChart({
    x: known === undefined ? 'row' : 'date',
    y: series.column,
    height: 420,
    bands: band,
    series: [
      { label: 'what came', color: 'var(--ink)', points: line(actual) },
      { label: 'seasonal naive', color: 'var(--baseline)', points: line(foretold(2)) },
      {
        label: `${backtests[0].name} with its ${100 * COVERAGE} % interval`,
        color: 'var(--held-out)',
        points: line([...foretold(0), ...ahead]),
      },
    ],
  })
  return `${chart}\n<p>The last ${escapeHtml(String(horizon))} steps lie after the end of the series.</p>`
}
