/**
 * Whole tasks around recurrent networks: texts that are sorted into classes and series that are forecast, from data to
 * model input, training, saving and use.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { trainForecaster } from '@cudnn-rnn/rnn/tasks'
 *
 * const backend = await openBackend('reference')
 * const values = Array.from({ length: 120 }, (_, month) => 50 + month / 2 + 10 * Math.sin((2 * Math.PI * month) / 6))
 * const forecaster = await trainForecaster(backend, [{ values }], { season: 6, horizon: 4, numUnits: 4, maxSteps: 20 })
 * const forecast = await forecaster.forecast({ values })
 * console.log(forecast.values.length) // 4
 * ```
 * @packageDocumentation
 */
export { seasonOf } from './calendar.js'
export { type ForecastShape, type Origins, usualShape } from './forecast_windows.js'
// Series
export { type Forecast, type Forecaster, loadForecaster } from './forecaster.js'
export type { ForecasterRecord } from './forecaster_record.js'
export {
  type ForecasterFitOptions,
  type ForecasterOptions,
  ForecasterTraining,
  trainForecaster,
} from './forecaster_training.js'
export { fillMissing } from './missing_values.js'
// Texts
export {
  type Classification,
  createTextClassifier,
  type LabeledText,
  loadTextClassifier,
  type TextClassifier,
  type TextClassifierOptions,
  type TextEncoding,
} from './text_classifier.js'
export type { CovariateOption, TimeSeries } from './time_series.js'
