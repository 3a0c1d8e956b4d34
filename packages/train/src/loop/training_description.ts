import { version } from '../../package.json'
import type { Schedule } from '../optimizers/learning_rate.js'
import type { Trainable } from '../optimizers/trainable.js'
import type { FitOptions } from './fit_options.js'

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

/** The rates at step 0 and at the powers of 2: a schedule is a function, which shows its values alone. */
function learningRates(rate: number | Schedule, maxSteps: number): Readonly<Record<string, number>> {
  const steps = Array.from({ length: LONGEST_RUN }, (_, power) => 2 ** power).filter((step) => step < maxSteps)
  const all = [0, ...steps, ...(maxSteps > 1 && maxSteps < 2 ** LONGEST_RUN ? [maxSteps - 1] : [])]
  const at = (step: number) => (typeof rate === 'number' ? rate : rate(step))
  return Object.fromEntries(all.map((step) => [`learningRate at step ${step}`, at(step)]))
}

/** The shape that all ranks share; of rows of a batch each has its own number. */
function sharedShape(shape: readonly number[], batchAxis: number | undefined): readonly (number | string)[] {
  return shape.map((size, axis) => (axis === batchAxis ? 'rows' : size))
}
