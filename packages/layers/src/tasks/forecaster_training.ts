import {
  checkArguments,
  checkOptions,
  codedRangeError,
  FLAG,
  integerFrom,
  listOf,
  NUMBER,
  OBJECT,
  type OptionsOf,
  oneOf,
  optional,
  optionFields,
  SHARE,
  TEXT,
  where,
} from '@cudnn-rnn/canonical/rules'
import {
  cudnnGRU,
  cudnnLSTM,
  dense,
  type LayerBatch,
  type LayersModel,
  lastStep,
  type ModelFitOptions,
  sequential,
} from '@cudnn-rnn/layers'
import type { Backend } from '@cudnn-rnn/ops'
import { cosineRate, Dataset, type FitResult } from '@cudnn-rnn/train'
import { calendarOf } from './calendar.js'
import {
  type ForecastShape,
  type ForecastShapeOptions,
  type Origins,
  SHAPE_OPTIONS,
  splitOrigins,
  usualShape,
} from './forecast_windows.js'
import { correctionsOf, encodingOf, Forecaster, forecastPlaces } from './forecaster.js'
import { FORECASTER_FORMAT, type ForecasterRecord } from './forecaster_record.js'
import { LinearBlend } from './linear_blend.js'
import { type Covariate, covariateValues, prepareSeries } from './prepared_series.js'
import { type CovariateOption, checkTimeSeries, lastKnown, type TimeSeries } from './time_series.js'
import { WindowEncoder, type WindowPlace } from './window_encoder.js'

const COUNT = optional(integerFrom(1))
const OPTIONS = {
  ...SHAPE_OPTIONS,
  /** Columns of the series that the network reads beside the values. Default: none. */
  covariates: optional<readonly CovariateOption[]>(listOf(optionFields({ name: TEXT, isKnownAhead: optional(FLAG) }))),
  /** Default `lstm`. */
  cell: optional(oneOf(['lstm', 'gru'])),
  /** H. Default 32. */
  numUnits: COUNT,
  /** L. Default 1. */
  numLayers: COUNT,
  /** Drop probability between layers. Default 0. */
  dropout: optional(SHARE),
  /** Seed of initial values, masks and the order of windows. Default 0. */
  seed: optional(integerFrom(0)),
  /** Updates at most. Default 600. */
  maxSteps: optional(integerFrom(2)),
  /** Windows of an update. Default 32. */
  batchSize: COUNT,
  /** The highest of a cosine schedule. Default 0.003. */
  learningRate: optional(where(NUMBER, '> 0', (value: number) => value > 0)),
  /** Updates between evaluations. Default 25. */
  evaluateEvery: COUNT,
  /** Evaluations without a better one until training stops. Default 10. */
  patience: COUNT,
  /** Coverage of the interval, 0..1. Default 0.8. */
  coverage: optional(SHARE),
}

export interface ForecasterOptions extends ForecastShapeOptions, OptionsOf<typeof OPTIONS> {}

/** The part of the options of `fit` that callers choose. */
export type ForecasterFitOptions = Pick<
  ModelFitOptions,
  'checkpoints' | 'communicator' | 'wire' | 'saveEvery' | 'signal' | 'onStart' | 'onStep'
>

/** Shares of the network's correction that are tried on the calibration part. */
const SHARES = [0, 0.25, 0.5, 0.75, 1]

/** Updates over which the learning rate rises. */
const WARM_UP = 20

/** Windows of a batch that is evaluated. */
const EVALUATED = 256

/**
 * The training of a forecaster on series that share one model. The last `heldOut` values of each are left out; the
 * `heldOut` before them, the calibration part, decide when training stops, how much the network counts, and the interval.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { ForecasterTraining } from '@cudnn-rnn/rnn/tasks'
 *
 * const backend = await openBackend('reference')
 * const sales = Array.from({ length: 120 }, (_, week) => 100 + week + 20 * Math.sin((2 * Math.PI * week) / 6))
 * const training = new ForecasterTraining(backend, [{ values: sales }], { season: 6, horizon: 4, numUnits: 4, maxSteps: 20 })
 * const { step } = await training.fit({ checkpoints: 'runs/sales' })
 * const forecaster = await training.finish()
 * console.log(step, (await forecaster.forecast({ values: sales })).values.length) // 20 4
 * ```
 */
export class ForecasterTraining {
  readonly model: LayersModel
  readonly shape: ForecastShape
  /** Each series' origins. */
  readonly origins: readonly Origins[]
  /** How many windows the network learns from. */
  readonly trainingWindows: number
  readonly #options: ForecasterOptions
  readonly #record: Omit<ForecasterRecord, 'share' | 'widths'>
  readonly #encoder: WindowEncoder
  readonly #blend: LinearBlend
  readonly #train: readonly Window[]
  readonly #calibration: readonly Window[]

  /**
   * Fits the linear part; the network is untrained.
   *
   * @throws RangeError `ERR_SERIES_TOO_SHORT`, `ERR_SERIES`, `ERR_COVARIATES`, `ERR_INVALID_OPTION`; TypeError
   *   `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`, `ERR_NOT_A_BACKEND`
   */
  constructor(backend: Backend, series: readonly TimeSeries[], options: ForecasterOptions = {}) {
    const action = 'train a forecaster'
    checkArguments(action, { series }, { series: listOf(OBJECT) })
    const given = checkOptions(action, options, OPTIONS)
    for (const each of series) checkTimeSeries(action, each)
    const [first] = series
    if (first === undefined) {
      throw codedRangeError('ERR_SERIES', `Cannot ${action} as there must be a series: current number is 0`)
    }
    const lengths = series.map(({ values }) => lastKnown(values) + 1)
    const { season = 1, coverage = 0.8 } = given
    this.#options = given
    this.shape = usualShape(Math.min(...lengths), season, given)
    this.origins = series.map((each, n) => splitOrigins(lengths[n], this.shape, each))
    const { window, horizon } = this.shape
    this.#record = {
      format: FORECASTER_FORMAT,
      shape: { window, horizon, season },
      calendar: series.every(({ dates }) => dates !== undefined) ? calendarOf(first.dates) : 'none',
      covariates: (given.covariates ?? []).map((covariate) => this.#scaled(covariate, series, lengths)),
      members: [],
      coverage,
    }
    const encoding = encodingOf({ ...this.#record, share: 0, widths: [] })
    this.#encoder = new WindowEncoder(this.shape, encoding)
    const prepared = series.map((each) => prepareSeries(each, encoding, false))
    const places = (part: 'train' | 'calibration') =>
      prepared.flatMap((each, n) =>
        this.origins[n][part]
          .filter((origin) => each.isKnown[origin] === 1)
          .map((origin): WindowPlace => ({ series: each, origin })),
      )
    const [train, calibration] = [places('train'), places('calibration')]
    for (const [part, found] of Object.entries({ training: train, calibration })) {
      const isKnown = found.some((place) => this.#encoder.actuals(place).some((value) => !Number.isNaN(value)))
      if (isKnown) continue
      throw codedRangeError(
        'ERR_SERIES',
        `Cannot ${action} as the ${part} part must have a known value with another one in the ${horizon} steps after it: all are missing`,
        { part },
      )
    }
    this.trainingWindows = train.length
    this.#blend = LinearBlend.fit(this.#encoder, train, calibration)
    const windowOf = (place: WindowPlace) => this.#window(place)
    this.#train = train.map(windowOf)
    this.#calibration = calibration.map(windowOf)
    this.model = this.#network(backend)
  }

  /** Trains the network, or resumes its training if `checkpoints` hold some of it; it then is the best one. Throws what `fit` throws. */
  async fit(options: ForecasterFitOptions = {}): Promise<FitResult> {
    const { maxSteps = 600, batchSize = 32, learningRate = 0.003, evaluateEvery = 25, patience = 10 } = this.#options
    const data = Dataset.fromArray(this.#train)
      .shuffle({ bufferSize: this.#train.length, seed: this.#options.seed ?? 0 })
      .repeat()
      .batch(Math.min(batchSize, this.#train.length))
      .map((windows) => this.#batch(windows))
    return this.model.fit(data, {
      ...options,
      loss: 'mean_absolute_error',
      maxSteps,
      learningRate: cosineRate({ peak: learningRate, steps: maxSteps, warmup: Math.min(WARM_UP, maxSteps - 1) }),
      clipNorm: 1,
      validation: this.#calibrationBatches(),
      evaluateEvery,
      earlyStopping: { metric: 'loss', patience, restoreBestWeights: true },
    })
  }

  /** The forecaster with the network as it is: its share and the interval are those that suit the calibration part. It owns the model. */
  async finish(): Promise<Forecaster> {
    const places = this.#calibration.map(({ place }) => place)
    const corrections = await correctionsOf(this.model, this.#encoder, places)
    const errors = SHARES.map((share) => this.#meanError(corrections, share))
    const share = SHARES[errors.indexOf(Math.min(...errors))]
    const forecasts = await forecastPlaces(this.model, this.#encoder, this.#blend, share, places)
    const scaled = places.map((place, n) => {
      const scale = this.#encoder.scale(place)
      return this.#encoder.actuals(place).map((actual, k) => (actual - forecasts[n].values[k]) / scale)
    })
    const widths = intervalWidths(scaled, this.#record.coverage)
    return new Forecaster(this.model, { ...this.#record, members: this.#blend.members, share, widths })
  }

  #network(backend: Backend): LayersModel {
    const { cell = 'lstm', numLayers = 1, numUnits = 32, dropout = 0, seed = 0 } = this.#options
    const recurrent = cell === 'lstm' ? cudnnLSTM : cudnnGRU
    const layers = [
      recurrent({ numLayers, numUnits, dropout, inputSize: this.#encoder.inputSize, name: cell }),
      lastStep(),
      // The first forecast is the linear part's.
      dense({ units: this.shape.horizon, kernelInitializer: 0, name: 'output' }),
    ]
    return sequential(backend, layers, { seed })
  }

  #scaled(
    { name, isKnownAhead = false }: CovariateOption,
    series: readonly TimeSeries[],
    lengths: readonly number[],
  ): Covariate {
    const values = series.flatMap((each, n) => {
      const { train } = this.origins[n]
      const all = covariateValues(each, { name, isKnownAhead: false }, lengths[n], 0)
      return Array.from(all.subarray(0, train[train.length - 1] + 1))
    })
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
    return { name, isKnownAhead, mean, deviation: Math.sqrt(variance) || 1 }
  }

  /** A missing value has the correction of the value that was filled in; the window weighs less. */
  #window(place: WindowPlace): Window {
    const { horizon } = this.shape
    const scale = this.#encoder.scale(place)
    const base = this.#blend.forecast(place)
    const target = base.map((value, k) => (place.series.values[place.origin + 1 + k] - value) / scale)
    const known = this.#encoder.actuals(place).filter((value) => !Number.isNaN(value)).length
    return { place, target, weight: known / horizon }
  }

  #batch(windows: readonly Window[]): LayerBatch {
    const labels = {
      data: Float32Array.from(windows.flatMap(({ target }) => target)),
      shape: [windows.length, this.shape.horizon],
    }
    const input = this.#encoder.inputs(windows.map(({ place }) => place))
    if (windows.every(({ weight }) => weight === 1)) return { input, labels }
    const weights = { data: Float32Array.from(windows, ({ weight }) => weight), shape: [windows.length] }
    return { input, labels, weights }
  }

  #calibrationBatches(): LayerBatch[] {
    const count = Math.ceil(this.#calibration.length / EVALUATED)
    return Array.from({ length: count }, (_, n) =>
      this.#batch(this.#calibration.slice(n * EVALUATED, (n + 1) * EVALUATED)),
    )
  }

  /** Mean absolute error of the known values of the calibration part, relative to the scales. */
  #meanError(corrections: readonly (readonly number[])[], share: number): number {
    let [sum, count] = [0, 0]
    for (const [n, { place, target }] of this.#calibration.entries()) {
      for (const [k, actual] of this.#encoder.actuals(place).entries()) {
        if (Number.isNaN(actual)) continue
        sum += Math.abs(target[k] - share * corrections[n][k])
        count++
      }
    }
    return sum / Math.max(1, count)
  }
}

interface Window {
  readonly place: WindowPlace
  /** [horizon], relative to the scale of the window. */
  readonly target: readonly number[]
  /** Share of the values that are known. */
  readonly weight: number
}

/**
 * Trains a forecaster in memory and keeps the network that was best on the calibration part.
 *
 * @throws what `ForecasterTraining` and `fit` throw
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { trainForecaster } from '@cudnn-rnn/rnn/tasks'
 *
 * const backend = await openBackend('reference')
 * const sales = Array.from({ length: 120 }, (_, week) => 100 + week + 20 * Math.sin((2 * Math.PI * week) / 6))
 * const options = { season: 6, horizon: 4, numUnits: 4, maxSteps: 20 }
 * const forecaster = await trainForecaster(backend, [{ name: 'sales', values: sales }], options)
 * const { origin, values } = await forecaster.forecast({ values: sales })
 * console.log(origin, values.length) // 119 4
 * ```
 */
export async function trainForecaster(
  backend: Backend,
  series: readonly TimeSeries[],
  options: ForecasterOptions = {},
): Promise<Forecaster> {
  const training = new ForecasterTraining(backend, series, options)
  try {
    await training.fit()
    return await training.finish()
  } catch (error) {
    training.model.dispose()
    throw error
  }
}

/**
 * Split conformal prediction (Papadopoulos et al. 2002): for each step ahead the ⌈(n+1)·coverage⌉-th smallest of n absolute
 * errors; later ones are within it as often if the distribution of errors does not change.
 *
 * @param errors [n][horizon]; NaN if the value is missing.
 */
export function intervalWidths(errors: readonly (readonly number[])[], coverage: number): number[] {
  const horizon = errors[0]?.length ?? 0
  return Array.from({ length: horizon }, (_, k) => {
    const known = errors.map((row) => Math.abs(row[k])).filter((error) => !Number.isNaN(error))
    const place = Math.min(known.length, Math.ceil((known.length + 1) * coverage)) - 1
    return known.sort((a, b) => a - b)[place] ?? 0
  })
}
