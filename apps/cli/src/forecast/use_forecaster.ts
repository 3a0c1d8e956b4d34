import { basename, extname, join } from 'node:path'
import { writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import { htmlPage, type ResultTable, settingsHtml, tableHtml, tableText } from '@cudnn-rnn/rnn/report'
import { type BackendName, openBackend } from '@cudnn-rnn/rnn'
import { type Forecaster, loadForecaster } from '@cudnn-rnn/rnn/tasks'
import { visibleJson, visibleText } from '@cudnn-rnn/canonical/rules'
import { colors } from '../colors.js'
import { executorName } from '../executor_line.js'
import { makeOutputDirectory, unusedDirectory } from '../output_directory.js'
import { readRunSettings } from '../run_settings.js'
import { type Backtest, coverageOf, forecastErrors } from './backtest.js'
import { type ChartedForecasts, forecastChart } from './forecast_chart.js'
import { forecastCsv, futureLabels } from './forecast_csv.js'
import { FORECAST_FORMAT, type ForecastSettings } from './forecast_run.js'
import { readSeries, type Series, type SeriesTable } from './series.js'

/** Options of the command. */
export interface UseForecasterRequest {
  readonly run: string
  readonly csv: string
  readonly delimiter?: string | undefined
  readonly date?: string | undefined
  readonly value?: string | undefined
  readonly series?: string | undefined
  readonly out?: string | undefined
  readonly backend: string
  readonly json?: boolean | undefined
}

/** Earlier forecasts of each series that are compared with the actual values, at most. */
const BACKTESTED = 100

/** Steps that the terminal shows, at most. */
const SHOWN = 24

/** Forecasts the series of a file with the forecaster of a run; leaves a page and a CSV file. */
export async function useForecaster(request: UseForecasterRequest): Promise<void> {
  const { run, csv, json = false } = request
  const settings = await readRunSettings<ForecastSettings>(run, FORECAST_FORMAT)
  const { columns } = settings
  const { delimiter, value = columns.value, date = columns.date, series = columns.series } = request
  const { covariates, knownAhead } = columns
  const table = await readSeries({ csv, delimiter, value, date, series, covariates, knownAhead })
  using backend = await openBackend(request.backend as BackendName)
  using forecaster = await loadForecaster(backend, run)
  const results: (ChartedForecasts & { readonly future: NonNullable<ChartedForecasts['future']> })[] = []
  for (const each of table.series) results.push(await forecastOf(forecaster, each))
  const directory = request.out ?? unusedDirectory(join(run, `forecast-${basename(csv, extname(csv))}`))
  const errors = comparison(results)
  if (!json || request.out !== undefined) {
    await makeOutputDirectory(directory)
    const html = page(table, results, errors, forecaster, [
      ['Run', run],
      ['Series', `${table.name}, column ${value}`],
      ['Executor', executorName(backend)],
    ])
    await writeFileAtomic(join(directory, 'report.html'), html)
    await writeFileAtomic(join(directory, 'forecast.csv'), forecastCsv(results, series))
  }
  process.stdout.write(json ? `${visibleJson(summary(results, errors))}\n` : text(results, errors, directory))
}

async function forecastOf(forecaster: Forecaster, series: Series) {
  const future = await forecaster.forecast(series)
  const { horizon } = forecaster.record.shape
  const last = future.origin - horizon
  const first = Math.max(forecaster.minimumLength - 1, last - BACKTESTED + 1)
  const origins = Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => first + n)
  const forecasts = await forecaster.backtest(series, origins)
  return { series, forecasts, future }
}

interface Comparison {
  readonly origins: number
  readonly mae: number
  readonly naiveMae: number
  readonly coverage: number
}

/** How forecasts from earlier places of the file compare with the actual values; undefined if it is too short for one. */
function comparison(results: readonly ChartedForecasts[]): Comparison | undefined {
  const forecasts = results.flatMap((result) => result.forecasts)
  if (forecasts.length === 0) return undefined
  const actuals = results.flatMap(({ series, forecasts }) =>
    forecasts.map(({ origin, values }) => Array.from(series.values.subarray(origin + 1, origin + 1 + values.length))),
  )
  const maeOf = (own: Backtest['forecasts']) => forecastErrors({ name: '', forecasts: own, actuals }).mae
  return {
    origins: forecasts.length,
    mae: maeOf(forecasts.map(({ values }) => values)),
    naiveMae: maeOf(forecasts.map(({ seasonalNaive }) => seasonalNaive)),
    coverage: coverageOf(forecasts, actuals),
  }
}

function forecastRows(results: readonly (ChartedForecasts & { future: NonNullable<ChartedForecasts['future']> })[]) {
  return results.flatMap(({ series, future }) => {
    const name = results.length > 1 || series.name !== '' ? [series.name] : []
    return futureLabels(series, future).map((label, k) => {
      const numbers = [future.values[k], future.low[k], future.high[k]]
      return [...name, label, ...numbers.map((number) => number.toPrecision(5))]
    })
  })
}

function forecastTable(results: Parameters<typeof forecastRows>[0], shown: number): ResultTable {
  const rows = forecastRows(results)
  const name = rows[0].length > 4 ? ['series'] : []
  return { header: [...name, 'step', 'forecast', 'low', 'high'], rows: rows.slice(0, shown) }
}

function comparisonText({ origins, mae, naiveMae, coverage }: Comparison): string {
  const count = origins === 1 ? 'one earlier place' : `${origins} earlier places`
  return `From ${count} of this file the mean absolute error was ${mae.toPrecision(3)}; the seasonal-naive forecast has ${naiveMae.toPrecision(3)}. The interval held ${(100 * coverage).toFixed(0)} % of the values.`
}

function text(results: Parameters<typeof forecastRows>[0], errors: Comparison | undefined, directory: string): string {
  const rest = forecastRows(results).length - SHOWN
  const lines = [
    tableText(forecastTable(results, SHOWN)),
    ...(rest > 0 ? [colors.dim(`${rest} more steps are in the file`)] : []),
    '',
    ...(errors === undefined ? [] : [`${colors.bold('Check')}     ${comparisonText(errors)}`]),
    `${colors.bold('Report')}    ${visibleText(join(directory, 'report.html'))}`,
    `${colors.bold('Forecast')}  ${visibleText(join(directory, 'forecast.csv'))}`,
  ]
  return `${lines.join('\n')}\n`
}

function summary(results: Parameters<typeof forecastRows>[0], errors: Comparison | undefined) {
  return {
    series: results.map(({ series, future }) => ({
      ...(series.name !== '' && { name: series.name }),
      steps: futureLabels(series, future),
      values: future.values,
      low: future.low,
      high: future.high,
    })),
    ...(errors !== undefined && { check: errors }),
  }
}

/** Series that the page draws, at most. */
const DRAWN = 12

function page(
  table: SeriesTable,
  results: Parameters<typeof forecastRows>[0],
  errors: Comparison | undefined,
  { record }: Forecaster,
  settings: readonly (readonly [string, string])[],
): string {
  const { coverage, shape } = record
  const charts = results.slice(0, DRAWN).map((result) => {
    const chart = forecastChart(result, { column: table.columns.value, shape, coverage })
    return { heading: result.series.name === '' ? 'Forecast' : visibleText(result.series.name), html: chart }
  })
  const first = results[0]
  const resultHtml =
    errors === undefined
      ? `<b>${shape.horizon} steps</b> after ${first.series.labels[first.future.origin]}.`
      : `<b>${shape.horizon} steps</b> after ${first.series.labels[first.future.origin]}. ${comparisonText(errors)}`
  return htmlPage({
    title: `A forecast of ${table.name}`,
    resultHtml,
    sections: [
      ...charts,
      { heading: 'Numbers', html: tableHtml(forecastTable(results, Number.POSITIVE_INFINITY)) },
      { heading: 'Settings', html: settingsHtml(settings) },
    ],
  })
}
