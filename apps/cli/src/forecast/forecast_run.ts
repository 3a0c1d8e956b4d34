import { Adam, type Backend, cosineRate, Dataset, TrainingCheckpoints } from '@cudnn-rnn/rnn'
import { dropoutState } from '../dropout_state.js'
import { type LoggedFitResult, loggedFit } from '../logged_fit.js'
import { warnOfSkipped } from '../resumed_run.js'
import { type RunSettings, writeRunSettings } from '../run_settings.js'
import { type Backtest, coverageOf, type IntervalWidths, intervalWidths } from './backtest.js'
import { ForecastModel, type ForecastModelSizes } from './forecast_model.js'
import { type ForecastShape, type Origins, splitOrigins } from './forecast_windows.js'
import { LinearForecaster } from './linear_forecaster.js'
import type { Series, SeriesSource } from './series.js'
import { WindowEncoder } from './window_encoder.js'

export const FORECAST_FORMAT = 'cudnn-rnn forecast 1'

/** Options of a run; saved with it. */
export interface ForecastSettings extends RunSettings {
  readonly format: typeof FORECAST_FORMAT
  readonly source: SeriesSource
  /** Of the values; see `dataFingerprint`. */
  readonly fingerprint: string
  readonly shape: ForecastShape
  readonly sizes: ForecastModelSizes
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

interface RunOptions {
  readonly json: boolean
  /** The run was begun before. */
  readonly isResumed: boolean
  readonly maxSeconds?: number | undefined
}

export interface ForecastResult {
  readonly training: LoggedFitResult
  /** On the held-out part: the network first, then the baselines. */
  readonly backtests: readonly [Backtest, Backtest, Backtest]
  readonly testOrigins: readonly number[]
  readonly widths: IntervalWidths
  /** Share of the held-out values that the interval holds. */
  readonly coverage: number
  /** Of the steps after the end of the series. */
  readonly future: readonly number[]
}

/** A series, a model and the forecasters to beat; dispose it after use. */
export class ForecastRun {
  readonly directory: string
  readonly settings: ForecastSettings
  readonly series: Series
  readonly backend: Backend
  readonly checkpoints: TrainingCheckpoints
  readonly model: ForecastModel
  readonly origins: Origins
  readonly #encoder: WindowEncoder

  /** Throws RangeError `ERR_SERIES_TOO_SHORT`. */
  constructor(directory: string, settings: ForecastSettings, series: Series, backend: Backend) {
    const { shape, sizes, seed } = settings
    this.directory = directory
    this.settings = settings
    this.series = series
    this.backend = backend
    this.origins = splitOrigins(series.values.length, shape)
    this.#encoder = new WindowEncoder(series.values, shape, this.origins.train)
    const io = { inputSize: this.#encoder.inputSize, horizon: shape.horizon }
    this.model = new ForecastModel(backend, sizes, io, seed)
    this.checkpoints = new TrainingCheckpoints(backend, directory, { models: [this.model.recurrent.model] })
  }

  /** Trains, or resumes training, and then forecasts with the best model. */
  async run(options: RunOptions): Promise<ForecastResult> {
    const training = await this.#train(options)
    const best = await this.checkpoints.restore(this.model.variables, 'best')
    warnOfSkipped(best?.skipped ?? [])
    const { test, calibration } = this.origins
    const network = await this.#backtest(this.#name, test)
    const widths = intervalWidths(await this.#backtest(this.#name, calibration), COVERAGE)
    const linear = new LinearForecaster(this.series.values, this.settings.shape, this.origins.train)
    const [future = []] = await this.#forecasts([this.series.values.length - 1])
    return {
      training,
      backtests: [
        network,
        this.#backtestOf('linear regression', test, (origin) => linear.forecast(origin)),
        this.#backtestOf('seasonal naive', test, (origin) =>
          Array.from({ length: this.settings.shape.horizon }, (_, k) => this.#encoder.naive(origin, k + 1)),
        ),
      ],
      testOrigins: test,
      widths,
      coverage: coverageOf(network, widths),
      future,
    }
  }

  dispose(): void {
    this.model.dispose()
    this.backend.dispose()
  }

  get #name(): string {
    return this.settings.sizes.cell.toUpperCase()
  }

  async #train({ json, maxSeconds, isResumed }: RunOptions) {
    const { steps, batch, learningRate, evaluateEvery, saveEvery, patience, seed } = this.settings
    const { model, origins } = this
    const recurrent = model.recurrent.model
    using optimizer = new Adam(this.backend, model.variables)
    let best = Number.POSITIVE_INFINITY
    return await loggedFit({
      directory: this.directory,
      json,
      isResumed,
      onResume: () => writeRunSettings(this.directory, this.settings),
      maxSeconds,
      backend: this.backend,
      data: Dataset.fromArray(origins.train).shuffle({ bufferSize: origins.train.length, seed }).repeat().batch(batch),
      batchGradients: (chosen) => model.batchGradients(this.#encoder.inputs(chosen), this.#encoder.targets(chosen)),
      optimizer,
      learningRate: cosineRate({ peak: learningRate, steps, warmup: Math.min(20, steps - 1) }),
      maxSteps: steps,
      clipNorm: 1,
      evaluate: async () => ({ loss: await this.#calibrationLoss() }),
      evaluateEvery,
      saveEvery,
      earlyStopping: { metric: 'loss', patience },
      saver: this.checkpoints,
      state: dropoutState(recurrent, this.settings.sizes.dropout),
      figures: ({ loss, metrics, seconds }) => {
        best = Math.min(best, metrics?.['loss'] ?? best)
        const shown = Number.isFinite(best) ? best.toFixed(4) : '–'
        return [
          `loss ${loss.toFixed(4)}`,
          `best calibration error ${shown}`,
          `${Math.round(batch / seconds)} windows/s`,
        ]
      },
      gates: () => model.recurrent.gates(),
    })
  }

  /** Mean squared error on the calibration part, scaled as the training loss is. */
  async #calibrationLoss(): Promise<number> {
    const { calibration } = this.origins
    const outputs = await this.model.predict(this.#encoder.inputs(calibration))
    const { data } = this.#encoder.targets(calibration)
    const { horizon } = this.settings.shape
    const errors = outputs.flatMap((row, n) => Array.from(row, (value, k) => (value - data[n * horizon + k]!) ** 2))
    return errors.reduce((sum, error) => sum + error, 0) / errors.length
  }

  async #forecasts(origins: readonly number[]): Promise<number[][]> {
    const outputs = await this.model.predict(this.#encoder.inputs(origins))
    return outputs.map((row, n) => this.#encoder.decode(origins[n]!, row))
  }

  async #backtest(name: string, origins: readonly number[]): Promise<Backtest> {
    const forecasts = await this.#forecasts(origins)
    return this.#backtestOf(name, origins, (_, n) => forecasts[n]!)
  }

  #backtestOf(name: string, origins: readonly number[], forecast: (origin: number, n: number) => number[]): Backtest {
    const { horizon } = this.settings.shape
    const actual = (origin: number) => Array.from(this.series.values.subarray(origin + 1, origin + 1 + horizon))
    return { name, forecasts: origins.map(forecast), actuals: origins.map(actual) }
  }
}
