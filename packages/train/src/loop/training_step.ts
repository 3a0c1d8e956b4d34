import { type Backend, type BackendTensor, isBackendTensor } from '@cudnn-rnn/backend'
import type { Optimizer } from '../optimizers/optimizer.js'
import { type ClippingOptions, clipGradients } from './clip_gradients.js'
import { type BatchResult, GradientAccumulator } from './gradient_accumulator.js'

export interface TrainingStepOptions<Batch> extends ClippingOptions {
  readonly backend: Backend
  readonly batchGradients: (batch: Batch) => Promise<BatchResult>
  readonly optimizer: Optimizer
}

export interface StepOutcome {
  /** Mean over the batches. */
  readonly loss: number
  /** Global norm before clipping. */
  readonly gradientNorm: number
  /** True when loss or gradients were not finite: nothing was updated. */
  readonly skipped: boolean
}

/**
 * One update over the mean gradients of `batches`. On executors with `Backend.steps` all of it is queued before anything
 * is read: the device itself leaves out an update that is not finite.
 */
export async function trainingStep<Batch>(
  options: TrainingStepOptions<Batch>,
  batches: readonly Batch[],
  learningRate: number,
): Promise<StepOutcome> {
  const { backend, optimizer, batchGradients } = options
  const { steps } = backend
  const step = async (): Promise<StepOutcome | Queued> => {
    using accumulator = new GradientAccumulator(backend, optimizer.variables)
    for (const batch of batches) accumulator.add(await batchGradients(batch))
    const losses = accumulator.takeLosses()
    const gradients = accumulator.mean()
    const norm = clipGradients(backend, gradients, options)
    const queued = { losses, norm }
    const update = () => optimizer.apply(gradients, learningRate)
    if (steps !== undefined && losses.every((loss) => isBackendTensor(loss) || Number.isFinite(loss))) {
      steps.whereFinite([...losses.filter(isBackendTensor), norm], update)
      return queued
    }
    const outcome = await readOutcome(queued)
    if (!outcome.skipped) update()
    return outcome
  }
  const { step: before } = optimizer
  let done: StepOutcome | Queued
  try {
    done = await (steps === undefined ? step() : steps.run(step))
  } catch (error) {
    // An update queued after the failed operation may have been counted.
    optimizer.restoreStep(before)
    throw error
  }
  if (!('norm' in done)) return done
  const outcome = await readOutcome(done)
  // The optimizer counted an update that the device left out.
  if (outcome.skipped) optimizer.restoreStep(optimizer.step - 1)
  return outcome
}

/** Results of a step on the executor. */
interface Queued {
  readonly losses: readonly (number | BackendTensor)[]
  readonly norm: BackendTensor
}

/** Reads and disposes the tensors. */
async function readOutcome({ losses, norm }: Queued): Promise<StepOutcome> {
  try {
    const scalars = losses.map(async (loss) => (isBackendTensor(loss) ? (await loss.read()).data[0]! : loss))
    const [gradientNorm, ...values] = await Promise.all([norm.read().then(({ data }) => data[0]!), ...scalars])
    const loss = values.reduce((sum, value) => sum + value, 0) / values.length
    return { loss, gradientNorm, skipped: !(Number.isFinite(gradientNorm) && Number.isFinite(loss)) }
  } finally {
    for (const tensor of [...losses, norm]) if (isBackendTensor(tensor)) tensor.dispose()
  }
}
