import { join } from 'node:path'
import {
  type Forecast,
  type Forecaster,
  ForecasterTraining,
  type ForecastShape,
  fillMissing,
  usualShape,
} from '@cudnn-rnn/rnn/tasks'
import type { LoggedFitResult } from '../logged_fit.js'
import { ModelRun, type RunPlace } from '../model_run.js'
import type { RunSettings } from '../run_settings.js'
import type { TaskRun, TaskRunOptions } from '../run_task.js'
import { type Backtest, coverageOf, LINEAR_PART } from './backtest.js'
import { LinearForecaster } from './linear_forecaster.js'
import type { Series, SeriesColumns, SeriesSource, SeriesTable } from './series.js'
import { usualSeason } from './usual_season.js'

export const FORECAST_FORMAT = 'cudnn-rnn forecast 2'

/** The checkpoint of the forecaster in the directory of a run that has ended. */
const FORECASTER_FILE = join('forecaster', 'model')

/** Options of a run; saved with it. */
export interface ForecastSettings extends RunSettings {
  readonly format: typeof FORECAST_FORMAT
  readonly source: SeriesSource
  /** The source's columns, with the ones that were found. */
  readonly columns: SeriesColumns
  /** Fingerprint of the values; see `dataFingerprint`. */
  readonly fingerprint: string
  readonly shape: ForecastShape
  readonly sizes: {
    readonly cell: 'lstm' | 'gru'
    readonly numLayers: number
    readonly numUnits: number
    /** Drop probability between layers. */
    readonly dropout: number
  }
  readonly steps: number
  readonly batch: number
  readonly learningRate: number
  readonly evaluateEvery: number
  readonly saveEvery?: number | undefined
  /** Evaluations without a better one until training stops. */
  readonly patience: number
  readonly seed: number
}

/** Coverage of the interval. */
export const COVERAGE = 0.8

export interface SeriesResult {
  readonly series: Series
  /** On the held-out part. */
  readonly forecasts: readonly Forecast[]
  /** The forecast of the steps after the last value; undefined if covariates of these steps are missing. */
  readonly future: Forecast | undefined
}

export interface ForecastResult {
  readonly training: LoggedFitResult
  /** On the held-out parts of all series: the forecaster, its linear part alone, and the baselines. */
  readonly backtests: readonly [Backtest, Backtest, Backtest, Backtest]
  readonly series: readonly SeriesResult[]
  /** Share of the held-out values that the interval holds. */
  readonly coverage: number
  /** Share of the network's correction that the forecaster adds, 0..1. */
  readonly share: number
}

/** The sizes of the windows of a table, those that are given and those that suit the series. */
export function shapeOf({ series }: SeriesTable, given: Partial<ForecastShape>): ForecastShape {
  const length = Math.min(...series.map(({ values }) => values.findLastIndex((value) => !Number.isNaN(value)) + 1))
  return usualShape(length, given.season ?? usualSeason(series[0], length), given)
}

/** Series, a forecaster in training and the forecasters to beat. */
export class ForecastRun extends ModelRun<ForecastSettings> implements TaskRun<ForecastResult> {
  readonly table: SeriesTable
  readonly training: ForecasterTraining

  /** Throws RangeError `ERR_SERIES_TOO_SHORT`, `ERR_SERIES`. */
  constructor(place: RunPlace<ForecastSettings>, table: SeriesTable) {
    const { shape, sizes, steps, batch, columns, ...rest } = place.settings
    const { learningRate, evaluateEvery, patience, seed } = rest
    const covariates = [
      ...columns.covariates.map((name) => ({ name })),
      ...columns.knownAhead.map((name) => ({ name, isKnownAhead: true })),
    ]
    const options = { learningRate, evaluateEvery, patience, seed, covariates, coverage: COVERAGE }
    const training = new ForecasterTraining(place.backend, table.series, {
      ...shape,
      ...sizes,
      ...options,
      maxSteps: steps,
      batchSize: batch,
    })
    super(place, training.model)
    // Before hours of training.
    for (const { axis } of table.series) axis?.text(axis.length - 1 + shape.horizon)
    this.table = table
    this.training = training
  }

  /**
   * Trains, or resumes training, saves the forecaster with the best network, and forecasts with it.
   *
   * @returns undefined on ranks other than the first
   */
  async run(options: TaskRunOptions): Promise<ForecastResult | undefined> {
    const training = await this.#train(options)
    if (!this.isFirst) return undefined
    await this.restoreBest()
    const forecaster = await this.training.finish()
    await forecaster.save(join(this.directory, FORECASTER_FILE))
    const results = await Promise.all(this.table.series.map((series, n) => this.#seriesResult(forecaster, series, n)))
    const actuals = results.flatMap(({ series, forecasts }) =>
      forecasts.map(({ origin, values }) => Array.from(series.values.subarray(origin + 1, origin + 1 + values.length))),
    )
    const forecasts = results.flatMap((result) => result.forecasts)
    return {
      training,
      backtests: [
        { name: this.name, forecasts: forecasts.map(({ values }) => values), actuals },
        { name: LINEAR_PART, forecasts: forecasts.map(({ linear }) => linear), actuals },
        { name: 'linear regression', forecasts: results.flatMap((result, n) => this.#linear(result, n)), actuals },
        { name: 'seasonal naive', forecasts: forecasts.map((each) => each.seasonalNaive), actuals },
      ],
      series: results,
      coverage: coverageOf(forecasts, actuals),
      share: forecaster.record.share,
    }
  }

  /** Name of the forecaster in tables. */
  get name(): string {
    return `linear + ${this.settings.sizes.cell.toUpperCase()}`
  }

  #train(options: TaskRunOptions): Promise<LoggedFitResult> {
    const { steps, batch, saveEvery } = this.settings
    let best = Number.POSITIVE_INFINITY
    return this.train(options, {
      fit: (hooks) => this.training.fit({ ...hooks, saveEvery }),
      maxSteps: steps,
      figures: ({ loss, metrics, seconds }) => {
        best = Math.min(best, metrics?.['loss'] ?? best)
        const shown = Number.isFinite(best) ? best.toFixed(4) : '–'
        const rate = Math.round(batch / seconds)
        return [`loss ${loss.toFixed(4)}`, `best calibration error ${shown}`, `${rate} windows/s`]
      },
    })
  }

  async #seriesResult(forecaster: Forecaster, series: Series, n: number): Promise<SeriesResult> {
    const forecasts = await forecaster.backtest(series, this.training.origins[n].test)
    return { series, forecasts, future: await this.#future(forecaster, series) }
  }

  async #future(forecaster: Forecaster, series: Series): Promise<Forecast | undefined> {
    const last = series.values.findLastIndex((value) => !Number.isNaN(value))
    const { knownAhead } = this.settings.columns
    const isKnown = series.values.length > last + this.settings.shape.horizon
    return knownAhead.length > 0 && !isKnown ? undefined : forecaster.forecast(series)
  }

  #linear({ series, forecasts }: SeriesResult, n: number): number[][] {
    const { shape, columns } = this.settings
    const covariate = (name: string, ahead: number) => ({ values: fillMissing(series.covariates[name], 1), ahead })
    const covariates = [
      ...columns.covariates.map((name) => covariate(name, 0)),
      ...columns.knownAhead.map((name) => covariate(name, shape.horizon)),
    ]
    const values = fillMissing(series.values, shape.season)
    const linear = new LinearForecaster(values, covariates, shape, this.training.origins[n].train)
    return forecasts.map(({ origin }) => linear.forecast(origin))
  }
}
