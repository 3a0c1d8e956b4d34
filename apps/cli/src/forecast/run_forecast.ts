import { join } from 'node:path'
import { tableText } from '@cudnn-rnn/rnn/report'
import type { Communicator } from '@cudnn-rnn/rnn'
import { visibleText } from '@cudnn-rnn/canonical/rules'
import { colors } from '../colors.js'
import { checkFingerprint, dataFingerprint } from '../data_fingerprint.js'
import { executorLine } from '../executor_line.js'
import { programCommand, shellWord } from '../invocation.js'
import { numberAtLeast, numberUpTo } from '../number_options.js'
import { openBackendOfRank, rankLines, rankSpeeds } from '../ranks.js'
import { runTask, type TaskRequest, unfinishedLines } from '../run_task.js'
import { changeable, DELIMITER, dataPath, type SettingOption, setting, trainingSettings } from '../setting_options.js'
import { forecastErrors } from './backtest.js'
import { forecastAdvice } from './forecast_advice.js'
import { forecastCsv } from './forecast_csv.js'
import { forecastPage, forecastTable, networkText, seriesText } from './forecast_page.js'
import {
  COVERAGE,
  FORECAST_FORMAT,
  type ForecastResult,
  ForecastRun,
  type ForecastSettings,
  shapeOf,
} from './forecast_run.js'
import { readSeries, type SeriesTable } from './series.js'

/** Options of the command. */
export type ForecastRequest = TaskRequest<AskedSettings>

/** Sizes that are left out follow from the series. */
type AskedSettings = Omit<ForecastSettings, 'fingerprint' | 'columns' | 'shape'> & {
  readonly shape: Partial<ForecastSettings['shape']>
}

/** Trains a forecaster, compares it with its baselines, and leaves report page and forecast in the run's directory. */
export async function runForecast(request: ForecastRequest): Promise<void> {
  const page = async (run: ForecastRun, result: ForecastResult) => forecastPage(run, result, await run.gates())
  const files = ({ settings }: ForecastRun, { series }: ForecastResult) => ({
    'forecast.csv': forecastCsv(series, settings.columns.series),
  })
  const task = { format: FORECAST_FORMAT, settings: FORECAST_SETTINGS, open: openRun, introduction, page }
  await runTask({ ...task, files, summary, conclusion }, request)
}

/** Reads the series and fits the linear part of the forecaster. */
async function openRun(
  world: Communicator,
  { directory, backend: name }: ForecastRequest,
  asked: AskedSettings,
  saved: ForecastSettings | null,
): Promise<ForecastRun> {
  const table = await readSeries(asked.source)
  const fingerprint = fingerprintOf(table)
  if (saved !== null) checkFingerprint(table.name, saved.fingerprint, fingerprint, saved.source.csv)
  const settings = { ...asked, columns: table.columns, shape: shapeOf(table, asked.shape), fingerprint }
  const backend = await openBackendOfRank(name, world)
  return new ForecastRun({ directory, settings, backend, world }, table)
}

export const FORECAST_SETTINGS: readonly SettingOption[] = [
  dataPath('source.csv', '--csv <file>', 'CSV file with a header, one row per step in order of time'),
  setting('source.delimiter', '--delimiter <text>', DELIMITER),
  setting('source.value', '--value <column>', 'column to forecast (default: the only one of numbers)'),
  setting('source.date', '--date <column>', 'column of dates (default: the first one)'),
  setting('source.series', '--series <column>', 'column that names the series of a row, if the file has several'),
  setting('source.covariates', '--covariates <columns>', 'columns of other numbers, separated by commas', names),
  setting(
    'source.knownAhead',
    '--known-ahead <columns>',
    'covariates whose future is known: the file has them after the last value',
    names,
  ),
  setting('shape.season', '--season <n>', 'steps of a season; 1 for none (default: by the dates, 12 for months)', 1),
  setting('shape.window', '--window <n>', 'steps read before the forecast (default: three seasons)', 2),
  setting('shape.horizon', '--horizon <n>', 'steps to forecast (default: a season, at least 12 steps)', 1),
  setting('shape.heldOut', '--held-out <n>', 'values at the end that are never trained on (default: 6 horizons)', 2),
  setting('sizes.cell', '--cell <name>', 'recurrent cell', ['lstm', 'gru'], 'lstm'),
  setting('sizes.numUnits', '--units <n>', 'units per layer', 1, 32),
  setting('sizes.numLayers', '--layers <n>', 'recurrent layers', 1, 1),
  setting('sizes.dropout', '--dropout <p>', 'drop probability between layers', numberUpTo(1), 0),
  changeable('steps', '--steps <n>', 'updates at most', 2, 600),
  setting('batch', '--batch <n>', 'windows per update', 1, 32),
  setting('learningRate', '--learning-rate <x>', 'peak learning rate of Adam', numberAtLeast(0), 0.003),
  changeable('evaluateEvery', '--evaluate-every <n>', 'evaluate and save every so many updates', 1, 25),
  changeable('patience', '--patience <n>', 'stop after so many evaluations without a better one', 1, 10),
  ...trainingSettings('saveEvery', 'seed'),
]

function names(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** Covers all numbers; a series that has gained a value is another one. */
function fingerprintOf({ series }: SeriesTable): string {
  return dataFingerprint(
    ...series.flatMap(({ name, values, covariates }) => [name, values, ...Object.entries(covariates).flat()]),
  )
}

function introduction({ table, settings, training, backend }: ForecastRun): string {
  const { window, horizon, season, heldOut } = settings.shape
  const { cell, numLayers, numUnits } = settings.sizes
  return `${[
    `${colors.bold('Series')}    ${visibleText(seriesText(table))}`,
    `${colors.bold('Task')}      read ${window} steps, forecast ${horizon}; season ${season}; the last ${heldOut} values are held out,\n          the ${heldOut} before them (calibration) choose the best step and the width of the interval`,
    `${colors.bold('Model')}     Cudnn${cell.toUpperCase()} ${numLayers} × ${numUnits} on what linear regressions leave, ${training.trainingWindows} windows`,
    `${colors.bold('Executor')}  ${executorLine(backend)}`,
  ].join('\n')}\n\n`
}

function conclusion(run: ForecastRun, result: ForecastResult, page: string): string[] {
  const { directory, settings } = run
  const { training, coverage } = result
  const advice = forecastAdvice(run, result)
  const isForecast = result.series.every(({ future }) => future !== undefined)
  return [
    '',
    tableText(forecastTable(result)),
    '',
    ...(advice === undefined
      ? []
      : [
          `${colors.bold('Advice')}    ${advice.instead} has the smaller error: use it instead, or try`,
          ...advice.tries.map((text) => `          ${text}`),
        ]),
    `${colors.bold('Network')}   ${networkText(run, result)}`,
    `${colors.bold('Interval')}  the ${100 * COVERAGE} % interval held ${(100 * coverage).toFixed(0)} % of the held-out values`,
    ...rankLines(training.ranks, settings.batch, 'windows'),
    `${colors.bold('Report')}    ${page}`,
    isForecast
      ? `${colors.bold('Forecast')}  ${visibleText(join(directory, 'forecast.csv'))}`
      : `${colors.bold('Forecast')}  none: rows of the next ${settings.shape.horizon} steps need ${visibleText(settings.columns.knownAhead.join(', '))}, and an empty ${visibleText(settings.columns.value)}`,
    `${colors.bold('Use it')}    ${programCommand()} forecast --run ${shellWord(directory)} --csv <file>`,
    ...unfinishedLines(training, { command: 'forecast', directory, steps: settings.steps }),
  ]
}

function summary(run: ForecastRun, result: ForecastResult) {
  const { training, coverage, share } = result
  const { step, ending, best, ranks } = training
  const table = forecastTable(result)
  return {
    step,
    ending,
    best,
    coverage,
    share,
    ...(ranks && { ranks: rankSpeeds(ranks, run.settings.batch) }),
    shape: run.settings.shape,
    errors: Object.fromEntries(result.backtests.map((each) => [each.name, forecastErrors(each)])),
    advice: forecastAdvice(run, result),
    result: table.rows.map((row) => Object.fromEntries(table.header.map((name, k) => [name, row[k]]))),
  }
}
