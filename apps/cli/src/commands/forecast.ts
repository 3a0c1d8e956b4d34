import { basename, extname, join } from 'node:path'
import type { Command } from 'commander'
import { codedRangeError } from '../coded_error.js'
import { FORECAST_FORMAT } from '../forecast/forecast_run.js'
import { FORECAST_SETTINGS, type ForecastRequest, runForecast } from '../forecast/run_forecast.js'
import { type UseForecasterRequest, useForecaster } from '../forecast/use_forecaster.js'
import { addRunOptions, type RunOptions } from '../run_options.js'
import { addSettings, givenOptions, settingsOf } from '../setting_options.js'
import { checkUseOptions } from '../use_options.js'

/** Options as commander hands them over, without those that a run alone reads. */
type ForecastOptions = RunOptions & Partial<UseForecasterRequest>

export function addForecastCommand(program: Command): void {
  const command = program
    .command('forecast')
    .description('forecast a time series: CO₂ in the air, or your own CSV file')
    .showHelpAfterError('(forecast --csv sales.csv forecasts your file; add --help for all options)')
    .option('--run <dir>', 'forecast --csv with the forecaster of this run, without training')
  addSettings(command, FORECAST_SETTINGS)
  command.option('--out <dir>', 'directory of the run (default: runs/forecast-<name of the series>)')
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

function forecastRequest(options: ForecastOptions, given: ReadonlySet<string>): ForecastRequest {
  const { csv, out } = options
  return {
    ...options,
    given,
    directory: out ?? join('runs', `forecast-${csv === undefined ? 'co2' : basename(csv, extname(csv))}`),
    settings: { ...settingsOf<ForecastRequest['settings']>(FORECAST_SETTINGS, options), format: FORECAST_FORMAT },
  }
}
