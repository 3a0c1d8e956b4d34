import {
  escapeHtml,
  htmlPage,
  type ResultTable,
  settingsHtml,
  tableHtml,
  trainingSections,
} from '@cudnn-rnn/rnn/report'
import type { GateWeights } from '@cudnn-rnn/rnn/train'
import { visibleText } from '@cudnn-rnn/canonical/rules'
import { executorName } from '../executor_line.js'
import { forecastErrors } from './backtest.js'
import { forecastAdvice } from './forecast_advice.js'
import { forecastChart } from './forecast_chart.js'
import { COVERAGE, type ForecastResult, type ForecastRun } from './forecast_run.js'
import type { SeriesTable } from './series.js'

/** Series that the page draws, at most. */
const DRAWN = 12

/** Model, errors, and the reduction of the seasonal-naive error, in a table that an outsider can read. */
export function forecastTable({ backtests }: ForecastResult): ResultTable {
  const errors = backtests.map(forecastErrors)
  const naive = errors[errors.length - 1].mae
  const best = errors.findIndex(({ mae }) => mae === Math.min(...errors.map((one) => one.mae)))
  return {
    header: ['forecaster', 'mean absolute error', 'root mean squared error', 'against seasonal naive'],
    rows: backtests.map(({ name }, index) => {
      const { mae, rmse } = errors[index]
      const against = index === backtests.length - 1 ? '' : difference(mae, naive)
      return [name, mae.toPrecision(4), rmse.toPrecision(4), against]
    }),
    best,
    ours: 0,
  }
}

/** By how much `mae` is above or below `naive`: in percent, or in the series' unit if `naive` is 0, as of a constant series. */
function difference(mae: number, naive: number): string {
  if (mae === naive) return '±0.0 %'
  const change = naive === 0 ? mae.toPrecision(2) : percent(mae, naive)
  return `${mae > naive ? '+' : '−'}${change}`
}

/** How far `mae` is from `naive`. An error that is left is never rounded away: it is 99.9 % less, not 100.0 %. */
function percent(mae: number, naive: number): string {
  const change = Math.abs((100 * (mae - naive)) / naive)
  return `${(mae > 0 && mae < naive ? Math.min(change, 99.9) : change).toFixed(1)} %`
}

/** `15.2 % below the seasonal-naive forecast's 3.88`, as the end of a sentence. */
function verdict(mae: number, naive: number): string {
  if (naive === 0)
    return mae === 0 ? 'as exact as the seasonal-naive forecast' : 'where the seasonal-naive forecast is exact'
  return `${percent(mae, naive)} ${mae <= naive ? 'below' : 'above'} the seasonal-naive forecast's ${naive.toPrecision(3)}`
}

/** The improvement of the network over the linear part of the forecaster, on the held-out values. */
export function networkText({ settings }: Pick<ForecastRun, 'settings'>, { backtests, share }: ForecastResult): string {
  const network = `The ${settings.sizes.cell.toUpperCase()}`
  if (share === 0) return `${network} adds nothing: it did not improve the linear forecast, which is used alone.`
  const [whole, linear] = backtests.map((backtest) => forecastErrors(backtest).mae)
  const [after, before] = [whole.toPrecision(4), linear.toPrecision(4)]
  if (whole >= linear) {
    return `${network} adds nothing on the held-out values: with ${100 * share} % of its correction the error is ${after}, by the linear part alone ${before}.`
  }
  return `${network} takes the error of the linear part from ${before} to ${after} (${difference(whole, linear)}), with ${100 * share} % of its correction.`
}

/** ` on the same covariates`, if there are any. */
function covariateText({ settings: { columns } }: Pick<ForecastRun, 'settings'>): string {
  return columns.covariates.length + columns.knownAhead.length === 0 ? '' : ' on the same covariates'
}

/** `sales.csv, column sold: 3 series, 1,200 values from 2020-01-01 to 2023-04-14`, with the missing ones. */
export function seriesText({ name, columns, series }: SeriesTable): string {
  const lengths = series.map(({ values }) => values.length)
  const missing = series.reduce((sum, { values }) => sum + values.filter(Number.isNaN).length, 0)
  const total = lengths.reduce((sum, length) => sum + length, 0)
  const longest = series[lengths.indexOf(Math.max(...lengths))]
  const count = series.length === 1 ? '' : `${series.length} series, `
  const gaps = missing === 0 ? '' : `, ${missing} of them missing`
  return `${name}, column ${columns.value}: ${count}${total} values from ${longest.labels[0]} to ${longest.labels.at(-1)}${gaps}`
}

/** The report of a run: forecast and interval, errors, training, settings. */
export function forecastPage(run: ForecastRun, result: ForecastResult, gates: readonly GateWeights[]): string {
  const { table, settings, backend } = run
  const { training, backtests, coverage } = result
  const [whole, , linear, naive] = backtests.map(forecastErrors)
  const { window, horizon, season, heldOut } = settings.shape
  return htmlPage({
    title: `A forecast of ${table.name}`,
    resultHtml: `<b>Mean absolute error ${whole.mae.toPrecision(3)}</b>, ${horizon} steps ahead, on ${heldOut} values${result.series.length > 1 ? ' of each series' : ''} it never saw: ${verdict(whole.mae, naive.mae)}. Linear regression${covariateText(run)} has ${linear.mae.toPrecision(3)}. ${networkText(run, result)}`,
    sections: [
      { heading: 'Forecast', html: chartsHtml(run, result) },
      {
        heading: 'Backtest',
        html: `${tableHtml(forecastTable(result))}
<p>Every forecaster predicted ${horizon} steps from each of ${backtests[0].forecasts.length} origins. The ${100 * COVERAGE} % interval, as wide as errors were before the held-out part, held ${(100 * coverage).toFixed(0)} % of the held-out values.</p>${adviceHtml(run, result)}`,
      },
      ...trainingSections({
        reports: training.reports,
        lossLabel: 'scaled absolute error',
        metric: 'loss',
        metricLabel: 'calibration part',
        itemsPerStep: settings.batch,
        itemName: 'windows',
        gates,
      }),
      {
        heading: 'Settings',
        html: settingsHtml([
          ['Series', seriesText(table)],
          [
            'Parts',
            `${run.training.trainingWindows} windows to learn from; ${heldOut} values to stop by and to measure the interval; ${heldOut} held out`,
          ],
          [
            'Model',
            `${window} steps → robust linear regressions + ${100 * result.share} % of Cudnn${settings.sizes.cell.toUpperCase()} ${settings.sizes.numLayers} × ${settings.sizes.numUnits} → ${horizon} steps; season ${season}`,
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

function chartsHtml({ settings, table }: ForecastRun, { series }: ForecastResult): string {
  const drawn = series.slice(0, DRAWN).map((each) => {
    const heading = each.series.name === '' ? '' : `<h3>${escapeHtml(visibleText(each.series.name))}</h3>\n`
    return heading + forecastChart(each, { column: table.columns.value, shape: settings.shape, coverage: COVERAGE })
  })
  const after = series.some(({ future }) => future !== undefined) ? ' The last one is after the end of the series.' : ''
  const rest = series.length > DRAWN ? `\n<p>${series.length - DRAWN} more series are in forecast.csv.</p>` : ''
  return `${drawn.join('\n')}\n<p>Each line is one forecast: it begins at the last known value and ends ${settings.shape.horizon} steps ahead, where the next one begins.${after}</p>${rest}`
}

function adviceHtml(run: ForecastRun, result: ForecastResult): string {
  const advice = forecastAdvice(run, result)
  if (advice === undefined) return ''
  const items = advice.tries.map((text) => `<li>${escapeHtml(text)}</li>`)
  return `\n<p>The forecast by <b>${advice.instead}</b> has the smaller error: use it instead, or try a run with</p>\n<ul>${items.join('')}</ul>`
}
