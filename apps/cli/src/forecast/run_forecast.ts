import { join, resolve } from 'node:path'
import { writeFileWhole } from '@cudnn-rnn/files'
import { tableText } from '@cudnn-rnn/report'
import { type BackendName, openBackend } from '@cudnn-rnn/rnn'
import { visibleText } from '@cudnn-rnn/text'
import pc from 'picocolors'
import { checkFingerprint, dataFingerprint } from '../data_fingerprint.js'
import { executorLine } from '../executor_line.js'
import { EXIT_CODES } from '../exit_codes.js'
import { programCommand } from '../invocation.js'
import { changedOptions, checkFixedOptions, type FixedOption } from '../resume_options.js'
import { beginRun, checkNoRun, readRunSettings } from '../run_settings.js'
import { forecastAdvice } from './forecast_advice.js'
import { forecastPage, forecastTable } from './forecast_page.js'
import { COVERAGE, FORECAST_FORMAT, type ForecastResult, ForecastRun, type ForecastSettings } from './forecast_run.js'
import { futureDates } from './future_dates.js'
import { readSeries } from './series.js'

/** Options of the command. */
export interface ForecastRequest {
  readonly directory: string
  readonly resume?: boolean | undefined
  /** Names of the options that stand on the command line. */
  readonly given: ReadonlySet<string>
  readonly overwrite?: boolean | undefined
  readonly json?: boolean | undefined
  readonly maxSeconds?: number | undefined
  readonly backend: string
  readonly settings: Omit<ForecastSettings, 'fingerprint'>
}

/** Trains a forecaster, compares it with its baselines, and leaves report page and forecast in the run's directory. */
export async function runForecast(request: ForecastRequest): Promise<void> {
  const { directory, json = false, maxSeconds } = request
  if (!request.resume && !request.overwrite) checkNoRun(directory)
  const saved = request.resume ? await readRunSettings<ForecastSettings>(directory, FORECAST_FORMAT) : undefined
  const asked = saved === undefined ? absolute(request.settings) : resumed(request, saved)
  const series = await readSeries(asked.source)
  const settings = { ...asked, fingerprint: dataFingerprint(series.values) }
  if (saved !== undefined) checkFingerprint(series.name, saved.fingerprint, settings.fingerprint, saved.source.csv)
  const run = new ForecastRun(directory, settings, series, await openBackend(request.backend as BackendName))
  try {
    await using _lock = await run.checkpoints.lock()
    if (!request.resume) await beginRun(directory, settings)
    if (!json) process.stdout.write(introduction(run))
    const result = await run.run({ json, maxSeconds, isResumed: saved !== undefined })
    const page = join(directory, 'report.html')
    await writeFileWhole(page, forecastPage(run, result, await run.model.recurrent.gates()))
    await writeFileWhole(join(directory, 'forecast.csv'), forecastCsv(run, result))
    process.stdout.write(json ? `${JSON.stringify(summary(run, result))}\n` : conclusion(run, result, page))
    if (result.training.ending === 'interrupted') process.exitCode = EXIT_CODES.interrupted
  } finally {
    run.dispose()
  }
}

/** Options that affect the results are fixed for a run; the number of steps and the intervals of evaluation and saving are not. */
const FIXED: readonly FixedOption<ForecastRequest['settings']>[] = [
  { name: 'value', value: ({ source }) => source.value },
  { name: 'delimiter', value: ({ source }) => source.delimiter },
  { name: 'date', value: ({ source }) => source.date },
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

function introduction({ series, settings, origins, backend }: ForecastRun): string {
  const { window, horizon, season, heldOut } = settings.shape
  const { cell, numLayers, numUnits } = settings.sizes
  return `${[
    `${pc.bold('Series')}    ${visibleText(series.name)}, column ${visibleText(series.column)}: ${series.values.length} values from ${visibleText(`${series.dates[0]} to ${series.dates.at(-1)}`)}`,
    `${pc.bold('Task')}      read ${window} steps, forecast ${horizon}; season ${season}; the last ${heldOut} values are held out,\n          the ${heldOut} before them (calibration) choose the best step and the width of the interval`,
    `${pc.bold('Model')}     Cudnn${cell.toUpperCase()} ${numLayers} × ${numUnits} → linear, on ${origins.train.length} windows`,
    `${pc.bold('Executor')}  ${executorLine(backend)}`,
  ].join('\n')}\n\n`
}

function conclusion(run: ForecastRun, result: ForecastResult, page: string): string {
  const { directory, settings } = run
  const { training, coverage } = result
  const advice = forecastAdvice(run, result)
  const lines = [
    '',
    tableText(forecastTable(result)),
    '',
    ...(advice === undefined
      ? []
      : [
          `${pc.bold('Advice')}    the network loses to ${advice.instead}: use that, or try`,
          ...advice.tries.map((text) => `          ${text}`),
        ]),
    `${pc.bold('Interval')}  the ${100 * COVERAGE} % interval held ${(100 * coverage).toFixed(0)} % of the held-out values`,
    `${pc.bold('Report')}    ${page}`,
    `${pc.bold('Forecast')}  ${join(directory, 'forecast.csv')}`,
  ]
  if (training.ending === 'interrupted' || training.ending === 'out of time') {
    lines.push(
      `${pc.yellow(training.ending)} after step ${training.step} of ${settings.steps}; everything up to it is saved in ${directory}.`,
      `${pc.bold('Go on')}     ${programCommand()} forecast --resume --out ${directory}`,
    )
  }
  return `${lines.join('\n')}\n`
}

function summary(run: ForecastRun, result: ForecastResult) {
  const { training, coverage } = result
  const { step, ending, best } = training
  const table = forecastTable(result)
  return {
    step,
    ending,
    best,
    coverage,
    advice: forecastAdvice(run, result),
    result: table.rows.map((row) => Object.fromEntries(table.header.map((name, k) => [name, row[k]]))),
  }
}

function forecastCsv({ series, settings }: ForecastRun, { future, widths }: ForecastResult): string {
  const dates = futureDates(series.dates, settings.shape.horizon)
  const rows = future.map((value, k) => {
    const date = dates?.[k]?.toISOString().slice(0, 10) ?? String(series.values.length + k + 1)
    return [date, value, value - widths[k]!, value + widths[k]!].join(',')
  })
  return `${['date,forecast,low,high', ...rows].join('\n')}\n`
}
