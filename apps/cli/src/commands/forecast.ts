import { basename, extname, join } from 'node:path'
import { type Command, Option } from 'commander'
import { codedRangeError } from '../coded_error.js'
import { FORECAST_FORMAT } from '../forecast/forecast_run.js'
import { type ForecastRequest, runForecast } from '../forecast/run_forecast.js'
import { useForecaster } from '../forecast/use_forecaster.js'
import { integerAtLeast, numberAtLeast, numberUpTo } from '../number_options.js'
import { givenOptions } from '../resume_options.js'
import { addRunOptions } from '../run_options.js'
import { checkUseOptions } from '../use_options.js'

/** Options as commander hands them over. */
interface ForecastOptions extends Omit<ForecastRequest, 'directory' | 'settings' | 'given'> {
  readonly run?: string
  readonly csv?: string
  readonly delimiter?: string
  readonly date?: string
  readonly value?: string
  readonly out?: string
  readonly series?: string
  readonly covariates?: readonly string[]
  readonly knownAhead?: readonly string[]
  readonly season?: number
  readonly window?: number
  readonly horizon?: number
  readonly heldOut?: number
  readonly cell: 'lstm' | 'gru'
  readonly units: number
  readonly layers: number
  readonly dropout: number
  readonly steps: number
  readonly batch: number
  readonly learningRate: number
  readonly evaluateEvery: number
  readonly saveEvery?: number
  readonly patience: number
  readonly seed: number
}

export function addForecastCommand(program: Command): void {
  const command = program
    .command('forecast')
    .description('forecast a time series: CO₂ in the air, or your own CSV file')
    .option('--csv <file>', 'CSV file with a header, one row per step in order of time')
    .option('--delimiter <text>', 'separator of columns (default: , or ; or tab or |, as in the header)')
    .option('--run <dir>', 'forecast --csv with the forecaster of this run, without training')
    .option('--value <column>', 'column to forecast (default: the only one of numbers)')
    .option('--date <column>', 'column of dates (default: the first one)')
    .option('--series <column>', 'column that names the series of a row, where the file has several')
    .option('--covariates <columns>', 'columns of other numbers to read, separated by commas', names)
    .option('--known-ahead <columns>', 'covariates that rows without a value at the end have, too', names)
    .option('--season <n>', 'steps of a season; 1 for none (default: by the dates, 12 for months)', integerAtLeast(1))
    .option('--window <n>', 'steps read before the forecast (default: three seasons)', integerAtLeast(2))
    .option('--horizon <n>', 'steps to forecast (default: a season, at least 12 steps)', integerAtLeast(1))
    .option('--held-out <n>', 'values at the end that are never trained on (default: 6 horizons)', integerAtLeast(2))
    .addOption(new Option('--cell <name>', 'recurrent cell').choices(['lstm', 'gru']).default('lstm'))
    .option('--units <n>', 'units per layer', integerAtLeast(1), 32)
    .option('--layers <n>', 'recurrent layers', integerAtLeast(1), 1)
    .option('--dropout <p>', 'drop probability between layers', numberUpTo(1), 0)
    .option('--steps <n>', 'updates at most', integerAtLeast(2), 600)
    .option('--batch <n>', 'windows per update', integerAtLeast(1), 32)
    .option('--learning-rate <x>', 'highest learning rate of Adam', numberAtLeast(0), 0.003)
    .option('--evaluate-every <n>', 'evaluate and save every so many updates', integerAtLeast(1), 25)
    .option('--patience <n>', 'stop after so many evaluations without a better one', integerAtLeast(1), 10)
    .option('--out <dir>', 'directory of the run (default: runs/forecast-<name of the series>)')
  addRunOptions(
    command,
    '--steps, --patience and how often to evaluate and save',
    'one JSON line per update, and one with the result',
  ).action((options: ForecastOptions, command: Command) => {
    const given = givenOptions(command)
    if (options.run === undefined) return runForecast(forecastRequest(options, given))
    checkUseOptions('forecast', given, USE_OPTIONS)
    if (options.csv === undefined) {
      throw codedRangeError('ERR_INVALID_OPTION', 'Cannot forecast as --run must be given with --csv <file>')
    }
    return useForecaster({ ...options, run: options.run, csv: options.csv })
  })
}

/** Options that may be given with --run. */
const USE_OPTIONS = ['run', 'csv', 'delimiter', 'value', 'date', 'series', 'out', 'backend', 'json']

function names(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** Without the sizes that are left out. */
function definedOf(shape: Partial<Record<'season' | 'window' | 'horizon' | 'heldOut', number | undefined>>) {
  return Object.fromEntries(Object.entries(shape).filter(([, size]) => size !== undefined))
}

function forecastRequest(options: ForecastOptions, given: ReadonlySet<string>): ForecastRequest {
  const { csv, delimiter, date, value, series, covariates, knownAhead, out, resume, overwrite, json, ...rest } = options
  const { maxSeconds, backend, wire } = rest
  const { season, window, horizon, heldOut, cell, units, layers, dropout, steps, batch, learningRate } = rest
  const { evaluateEvery, saveEvery, patience, seed } = rest
  return {
    directory: out ?? join('runs', `forecast-${csv === undefined ? 'co2' : basename(csv, extname(csv))}`),
    ...{ given, resume, overwrite, json, maxSeconds, backend, wire },
    settings: {
      format: FORECAST_FORMAT,
      source: { csv, delimiter, date, value, series, covariates, knownAhead },
      shape: definedOf({ season, window, horizon, heldOut }),
      sizes: { cell, numUnits: units, numLayers: layers, dropout },
      ...{ steps, batch, learningRate, evaluateEvery, saveEvery, patience, seed },
    },
  }
}
