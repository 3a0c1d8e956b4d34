import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { version } from '../../package.json'
import type { Schedule } from '../optimizers/learning_rate.js'
import type { Trainable } from '../optimizers/trainable.js'
import type { FitOptions } from './fit_options.js'
import type { TrainingRecord } from './training_saver.js'

/** Rates are compared up to 2 to this power. */
const LONGEST_RUN = 30

/** The settings that all ranks of a training must share; each is compared separately, under its name. */
export function trainingDescription<Batch>(options: FitOptions<Batch>): Readonly<Record<string, unknown>> {
  const { optimizer, state, learningRate } = options
  const { backend } = optimizer
  const { accumulate, clipNorm, clipValue, evaluateEvery, saveEvery, earlyStopping, maxSkipped, maxSteps, wire } =
    options
  const form = ({ name, value }: Trainable) => [name, value.shape, value.dtype, value.layout]
  return {
    version,
    executor: [backend.name, backend.dtype, backend.implementation],
    data: options.data.describe(),
    ...options.sharedSettings,
    optimizer: [optimizer.constructor.name, optimizer.settings],
    variables: optimizer.variables.map(form),
    slots: optimizer.slots.map(form),
    state: state?.tensors?.map(({ name, value }, index) => [name, sharedShape(value.shape, state.batchAxes?.[index])]),
    ...{ accumulate, clipNorm, clipValue, evaluateEvery, saveEvery, earlyStopping, maxSkipped, maxSteps, wire },
    ...learningRates(learningRate, maxSteps),
    evaluation: options.evaluate !== undefined,
    saver: options.saver !== undefined,
    sum: options.communicator?.tensorSum?.(backend) === undefined ? 'of copies' : 'in place',
  }
}

/** The settings without which later steps are not those of the run that is continued. */
export function runSettings<Batch>(options: FitOptions<Batch>): Readonly<Record<string, string>> {
  const { data, optimizer, earlyStopping, accumulate = 1, sharedSettings } = options
  const watched = earlyStopping && { 'metric of early stopping': [earlyStopping.metric, earlyStopping.mode ?? 'min'] }
  const all = { ...sharedSettings, optimizer: optimizer.settings, accumulate, ...watched, data: data.describe() }
  const known = Object.entries(all).filter(([, value]) => value !== undefined)
  return Object.fromEntries(known.map(([name, value]) => [name, shown(value)]))
}

/** Throws RangeError `ERR_RESUME_OPTION` if a setting that run and checkpoint both have differs. */
export function checkRunSettings(
  settings: Readonly<Record<string, string>>,
  { settings: saved }: TrainingRecord,
): void {
  for (const [name, text] of Object.entries(saved ?? {})) {
    const value = settings[name]
    if (value === undefined || value === text) continue
    throw codedRangeError(
      'ERR_RESUME_OPTION',
      `Cannot continue the training with ${name} ${value} as its checkpoint has ${text}: leave it as it was, or begin a new run in another folder`,
      { option: name, value, saved: text },
    )
  }
}

/** JSON has no infinity. */
export function shown(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'number' ? String(each) : (each as unknown))) ?? 'none'
}

/** The rates at step 0 and at the powers of 2: a schedule is a function, which shows its values alone. */
function learningRates(rate: number | Schedule, maxSteps: number): Readonly<Record<string, number>> {
  const steps = Array.from({ length: LONGEST_RUN }, (_, power) => 2 ** power).filter((step) => step < maxSteps)
  const all = [0, ...steps, ...(maxSteps > 1 && maxSteps < 2 ** LONGEST_RUN ? [maxSteps - 1] : [])]
  const at = (step: number) => (typeof rate === 'number' ? rate : rate(step))
  return Object.fromEntries(all.map((step) => [`learningRate at step ${step}`, at(step)]))
}

/** The shape that all ranks share; the number of rows of a batch may differ. */
function sharedShape(shape: readonly number[], batchAxis: number | undefined): readonly (number | string)[] {
  return shape.map((size, axis) => (axis === batchAxis ? 'rows' : size))
}
