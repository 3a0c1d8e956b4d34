import { checkArguments, codedRangeError, FILE_PATH, integerFrom, listOf, PATH } from '@cudnn-rnn/canonical/rules'
import { type LayersModel, loadModel } from '@cudnn-rnn/layers'
import type { Backend } from '@cudnn-rnn/ops'
import { firstOrigin } from './forecast_windows.js'
import { type ForecasterRecord, isForecasterRecord } from './forecaster_record.js'
import { LinearBlend } from './linear_blend.js'
import { type PreparedSeries, prepareSeries, type SeriesEncoding } from './prepared_series.js'
import { notATask, readTask, taskNote } from './task_record.js'
import { checkTimeSeries, placeOf, type TimeSeries } from './time_series.js'
import { WindowEncoder, type WindowPlace } from './window_encoder.js'

/** A forecast of the steps after an origin. */
export interface Forecast {
  /** Index of the last value that was known. */
  readonly origin: number
  /** One for each step ahead. */
  readonly values: readonly number[]
  /** Values of the linear regressions alone, without the network's correction. */
  readonly linear: readonly number[]
  /** The interval that holds the share `coverage` of the values, if errors stay as they were on the calibration part. */
  readonly low: readonly number[]
  readonly high: readonly number[]
  /** The seasonal-naive forecast, to compare with: the values of the last season. */
  readonly seasonalNaive: readonly number[]
}

/** Windows that the network computes at a time. */
const BATCH = 256

/**
 * A trained forecaster; the result of `trainForecaster` or `loadForecaster`. A forecast is the sum of robust linear regressions
 * and the correction of a recurrent network.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { type Forecaster, trainForecaster } from '@cudnn-rnn/rnn/tasks'
 *
 * const backend = await openBackend('reference')
 * const sales = Array.from({ length: 120 }, (_, week) => 100 + week + 20 * Math.sin((2 * Math.PI * week) / 6))
 * const options = { season: 6, horizon: 4, numUnits: 4, maxSteps: 20 }
 * const forecaster: Forecaster = await trainForecaster(backend, [{ values: sales }], options)
 * const [forecast] = await forecaster.backtest({ values: sales }, [100])
 * console.log(forecast?.origin, forecast?.values.length, forecast?.seasonalNaive.length) // 100 4 4
 * ```
 */
export class Forecaster {
  /** Windows [W,B,I] to corrections [B,horizon], relative to the deviation of each window. */
  readonly model: LayersModel
  readonly record: ForecasterRecord
  readonly #encoder: WindowEncoder
  readonly #blend: LinearBlend

  /** @internal */
  constructor(model: LayersModel, record: ForecasterRecord) {
    this.model = model
    this.record = record
    this.#encoder = new WindowEncoder(record.shape, encodingOf(record))
    this.#blend = new LinearBlend(this.#encoder, record.members)
  }

  /** The number of values that a series must have at least. */
  get minimumLength(): number {
    return firstOrigin(this.record.shape) + 1
  }

  /**
   * Forecasts the steps after the last value of a series that is not missing.
   *
   * @throws RangeError `ERR_SERIES_TOO_SHORT`, `ERR_COVARIATES`, `ERR_SERIES`; TypeError `ERR_INVALID_ARGUMENT`
   */
  async forecast(series: TimeSeries): Promise<Forecast> {
    checkTimeSeries('forecast', series)
    const prepared = prepareSeries(series, encodingOf(this.record), true)
    const [forecast] = await this.#forecasts(series, prepared, [prepared.values.length - 1])
    return forecast
  }

  /**
   * Forecasts from earlier places of a series, to compare them with the values that came.
   *
   * @param origins indices of the last value that is known; those whose value is missing have no forecast.
   * @throws as {@link forecast}
   */
  async backtest(series: TimeSeries, origins: readonly number[]): Promise<Forecast[]> {
    checkTimeSeries('forecast', series)
    const { origins: places } = checkArguments('forecast', { origins }, { origins: listOf(integerFrom(0)) })
    const prepared = prepareSeries(series, encodingOf(this.record), false)
    const { length } = prepared.values
    const inside = places.find((origin) => origin >= length - this.record.shape.horizon)
    if (inside !== undefined) {
      throw codedRangeError(
        'ERR_SERIES_TOO_SHORT',
        `Cannot forecast as ${placeOf(series)} must have ${this.record.shape.horizon} values after each origin: current origin is ${inside} of ${length} values`,
        { length, origin: inside },
      )
    }
    return this.#forecasts(
      series,
      prepared,
      places.filter((origin) => prepared.isKnown[origin] === 1),
    )
  }

  /**
   * Saves the forecaster as one TensorFlow checkpoint, `<path>.index` and `<path>.data-00000-of-00001`.
   *
   * @throws TypeError `ERR_INVALID_ARGUMENT`; CheckpointError
   */
  async save(path: string): Promise<void> {
    checkArguments('save a forecaster', { path }, { path: FILE_PATH })
    await this.model.save(path, { notes: taskNote('forecaster', this.record) })
  }

  /** Releases the variables. */
  dispose(): void {
    this.model.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  async #forecasts(series: TimeSeries, prepared: PreparedSeries, origins: readonly number[]): Promise<Forecast[]> {
    const short = origins.find((origin) => origin + 1 < this.minimumLength)
    if (short !== undefined) {
      const { window, season } = this.record.shape
      throw codedRangeError(
        'ERR_SERIES_TOO_SHORT',
        `Cannot forecast as ${placeOf(series)} must have ${this.minimumLength} values for a window of ${window} and a season of ${season}: current number is ${short + 1}`,
        { length: short + 1, needed: this.minimumLength },
      )
    }
    const places = origins.map((origin) => ({ series: prepared, origin }))
    const forecasts = await forecastPlaces(this.model, this.#encoder, this.#blend, this.record.share, places)
    return places.map((place, n) => {
      const { values, linear } = forecasts[n]
      const scale = this.#encoder.scale(place)
      const side = (sign: number) => values.map((value, k) => value + sign * scale * this.record.widths[k])
      const naive = values.map((_, k) => this.#encoder.anchor('seasonal_naive', place, k + 1))
      return { origin: place.origin, values, linear, low: side(-1), high: side(1), seasonalNaive: naive }
    })
  }
}

/** Forecasts for places: the blend's plus a share of the network's correction. */
export async function forecastPlaces(
  model: LayersModel,
  encoder: WindowEncoder,
  blend: LinearBlend,
  share: number,
  places: readonly WindowPlace[],
): Promise<{ readonly values: number[]; readonly linear: number[] }[]> {
  const corrections = share === 0 ? undefined : await correctionsOf(model, encoder, places)
  return places.map((place, n) => {
    const scale = encoder.scale(place)
    const linear = blend.forecast(place)
    return { values: linear.map((value, k) => value + share * scale * (corrections?.[n]?.[k] ?? 0)), linear }
  })
}

/** The network's output for each place, relative to the scale of its window. */
export async function correctionsOf(
  model: LayersModel,
  encoder: WindowEncoder,
  places: readonly WindowPlace[],
): Promise<number[][]> {
  const { horizon } = encoder.shape
  const rows: number[][] = []
  for (let begin = 0; begin < places.length; begin += BATCH) {
    const chosen = places.slice(begin, begin + BATCH)
    const { data } = await model.predict(encoder.inputs(chosen))
    for (const n of chosen.keys()) rows.push(Array.from(data.subarray(n * horizon, (n + 1) * horizon)))
  }
  return rows
}

/**
 * A forecaster that `save` wrote, or that a run of `cudnn-rnn forecast` has trained.
 *
 * @param path what `save` was given, or the directory of a run.
 * @throws RangeError `ERR_NOT_A_FORECASTER`; TypeError `ERR_INVALID_ARGUMENT`, `ERR_NOT_A_BACKEND`; what `loadModel` throws
 * @example
 * ```ts
 * import { mkdtemp, rm } from 'node:fs/promises'
 * import { tmpdir } from 'node:os'
 * import { join } from 'node:path'
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { loadForecaster, trainForecaster } from '@cudnn-rnn/rnn/tasks'
 *
 * const backend = await openBackend('reference')
 * const sales = Array.from({ length: 120 }, (_, week) => 100 + week + 20 * Math.sin((2 * Math.PI * week) / 6))
 * sales[50] = Number.NaN // missing
 * const trained = await trainForecaster(backend, [{ values: sales }], { season: 6, horizon: 4, numUnits: 4, maxSteps: 20 })
 * const folder = await mkdtemp(join(tmpdir(), 'forecaster-'))
 * await trained.save(join(folder, 'sales'))
 *
 * const forecaster = await loadForecaster(backend, join(folder, 'sales'))
 * const { values, low, high } = await forecaster.forecast({ values: sales })
 * console.log(values.length, low.length, high.length) // 4 4 4
 * await rm(folder, { recursive: true })
 * ```
 */
export async function loadForecaster(backend: Backend, path: string): Promise<Forecaster> {
  checkArguments('load a forecaster', { path }, { path: PATH })
  const { prefix, record } = await readTask('forecaster', path)
  if (!isForecasterRecord(record)) {
    throw notATask('forecaster', prefix, 'its record is incomplete or of another version')
  }
  const model = await loadModel(backend, prefix)
  const { inputSize } = new WindowEncoder(record.shape, encodingOf(record))
  const fits = model.input.features === inputSize && model.output.features === record.shape.horizon
  if (fits && model.input.isSequence && !model.output.isSequence) return new Forecaster(model, record)
  model.dispose()
  throw notATask('forecaster', prefix, `its model must turn [T,B,${inputSize}] into [B,${record.shape.horizon}]`)
}

export function encodingOf({ shape, calendar, covariates }: ForecasterRecord): SeriesEncoding {
  return { season: shape.season, horizon: shape.horizon, calendar, covariates }
}
