import { join, resolve } from 'node:path'
import { tableText } from '@cudnn-rnn/report'
import type { Communicator } from '@cudnn-rnn/rnn'
import { visibleText } from '@cudnn-rnn/text'
import pc from 'picocolors'
import { checkFingerprint, dataFingerprint } from '../data_fingerprint.js'
import { executorLine } from '../executor_line.js'
import { programCommand, shellWord } from '../invocation.js'
import { openBackendOfRank, rankLines, rankSpeeds } from '../ranks.js'
import { changedOptions, checkFixedOptions, type FixedOption } from '../resume_options.js'
import { runTask, type TaskRequest, unfinishedLines } from '../run_task.js'
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
  await runTask({ format: FORECAST_FORMAT, open: openRun, introduction, page, files, summary, conclusion }, request)
}

/** Reads the series and fits the linear part of the forecaster. */
async function openRun(
  world: Communicator,
  request: ForecastRequest,
  saved: ForecastSettings | null,
): Promise<ForecastRun> {
  const asked = saved === null ? absolute(request.settings) : resumed(request, saved)
  const table = await readSeries(asked.source)
  const fingerprint = fingerprintOf(table)
  if (saved !== null) checkFingerprint(table.name, saved.fingerprint, fingerprint, saved.source.csv)
  const settings = { ...asked, columns: table.columns, shape: shapeOf(table, asked.shape), fingerprint }
  return new ForecastRun(request.directory, settings, table, await openBackendOfRank(request.backend, world), world)
}

/** Options that affect the results are fixed for a run; the number of steps and the intervals of evaluation and saving are not. */
const FIXED: readonly FixedOption<ForecastRequest['settings']>[] = [
  { name: 'value', value: ({ source }) => source.value },
  { name: 'delimiter', value: ({ source }) => source.delimiter },
  { name: 'date', value: ({ source }) => source.date },
  { name: 'series', value: ({ source }) => source.series },
  { name: 'covariates', value: ({ source }) => source.covariates?.join() },
  { name: 'knownAhead', value: ({ source }) => source.knownAhead?.join() },
  { name: 'season', value: ({ shape }) => shape.season },
  { name: 'window', value: ({ shape }) => shape.window },
  { name: 'horizon', value: ({ shape }) => shape.horizon },
  { name: 'heldOut', value: ({ shape }) => shape.heldOut },
  { name: 'cell', value: ({ sizes }) => sizes.cell },
  { name: 'units', value: ({ sizes }) => sizes.numUnits },
  { name: 'layers', value: ({ sizes }) => sizes.numLayers },
  { name: 'dropout', value: ({ sizes }) => sizes.dropout },
  { name: 'batch', value: ({ batch }) => batch },
  { name: 'learningRate', value: ({ learningRate }) => learningRate },
  { name: 'seed', value: ({ seed }) => seed },
]

const CHANGEABLE = ['steps', 'evaluateEvery', 'saveEvery', 'patience'] as const

/** Of all numbers; a series that has gained a value is another one. */
function fingerprintOf({ series }: SeriesTable): string {
  return dataFingerprint(
    ...series.flatMap(({ name, values, covariates }) => [name, values, ...Object.entries(covariates).flat()]),
  )
}

function resumed({ directory, given, settings }: ForecastRequest, saved: ForecastSettings): ForecastSettings {
  const asked = absolute(settings)
  checkFixedOptions(directory, FIXED, given, asked, saved)
  return {
    ...saved,
    ...changedOptions(given, asked, CHANGEABLE),
    // The file may have moved; that it holds the same data is checked when it has been read.
    source: given.has('csv') ? { ...saved.source, csv: asked.source.csv } : saved.source,
  }
}

/** A resumed run may start in another folder. */
function absolute({ source, ...settings }: ForecastRequest['settings']): ForecastRequest['settings'] {
  return { ...settings, source: { ...source, csv: source.csv === undefined ? undefined : resolve(source.csv) } }
}

function introduction({ table, settings, training, backend }: ForecastRun): string {
  const { window, horizon, season, heldOut } = settings.shape
  const { cell, numLayers, numUnits } = settings.sizes
  return `${[
    `${pc.bold('Series')}    ${visibleText(seriesText(table))}`,
    `${pc.bold('Task')}      read ${window} steps, forecast ${horizon}; season ${season}; the last ${heldOut} values are held out,\n          the ${heldOut} before them (calibration) choose the best step and the width of the interval`,
    `${pc.bold('Model')}     Cudnn${cell.toUpperCase()} ${numLayers} × ${numUnits} on what linear regressions leave, ${training.trainingWindows} windows`,
    `${pc.bold('Executor')}  ${executorLine(backend)}`,
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
          `${pc.bold('Advice')}    ${advice.instead} has the smaller error: use it instead, or try`,
          ...advice.tries.map((text) => `          ${text}`),
        ]),
    `${pc.bold('Network')}   ${networkText(run, result)}`,
    `${pc.bold('Interval')}  the ${100 * COVERAGE} % interval held ${(100 * coverage).toFixed(0)} % of the held-out values`,
    ...rankLines(training.ranks, settings.batch, 'windows'),
    `${pc.bold('Report')}    ${page}`,
    isForecast
      ? `${pc.bold('Forecast')}  ${visibleText(join(directory, 'forecast.csv'))}`
      : `${pc.bold('Forecast')}  none: rows of the next ${settings.shape.horizon} steps need ${visibleText(settings.columns.knownAhead.join(', '))}, and an empty ${visibleText(settings.columns.value)}`,
    `${pc.bold('Use it')}    ${programCommand()} forecast --run ${shellWord(directory)} --csv <file>`,
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
