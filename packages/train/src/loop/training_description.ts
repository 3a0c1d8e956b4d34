import { version } from '../../package.json'
import type { Trainable } from '../optimizers/trainable.js'
import type { FitOptions } from './fit_options.js'

/** The settings that all ranks of a training must share; each is compared separately, under its name. */
export function trainingDescription<Batch>(options: FitOptions<Batch>): Readonly<Record<string, unknown>> {
  const { backend, optimizer, state, learningRate } = options
  const { accumulate, clipNorm, clipValue, evaluateEvery, saveEvery, earlyStopping, maxSkipped, maxSteps, wire } =
    options
  const form = ({ name, value }: Trainable) => [name, value.shape, value.dtype, value.layout]
  return {
    version,
    executor: [backend.name, backend.dtype, backend.implementation],
    data: options.data.describe(),
    optimizer: optimizer.constructor.name,
    variables: optimizer.variables.map(form),
    slots: optimizer.slots.map(form),
    state: state?.tensors?.map(({ name, value }, index) => [name, sharedShape(value.shape, state.batchAxes?.[index])]),
    ...{ accumulate, clipNorm, clipValue, evaluateEvery, saveEvery, earlyStopping, maxSkipped, maxSteps, wire },
    learningRate: typeof learningRate === 'number' ? learningRate : learningRate(0),
    evaluation: options.evaluate !== undefined,
    saver: options.saver !== undefined,
    sum: options.communicator?.tensorSum?.(backend) === undefined ? 'of copies' : 'in place',
  }
}

/** The shape that all ranks share; of rows of a batch each has its own number. */
function sharedShape(shape: readonly number[], batchAxis: number | undefined): readonly (number | string)[] {
  return shape.map((size, axis) => (axis === batchAxis ? 'rows' : size))
}
