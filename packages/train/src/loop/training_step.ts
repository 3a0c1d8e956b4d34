import { type BackendTensor, isBackendTensor } from '@cudnn-rnn/ops'
import type { Optimizer } from '../optimizers/optimizer.js'
import { type ClippingOptions, clipGradients } from './clip_gradients.js'
import { type BatchResult, GradientAccumulator, type WeightedLoss } from './gradient_accumulator.js'

/** The results of one rank, or of all together. */
export interface StepMeans {
  readonly losses: readonly WeightedLoss[]
  /** Means over the batches, by their weights. */
  readonly gradients: readonly BackendTensor[]
}

export interface TrainingStepOptions<Batch> extends ClippingOptions {
  readonly batchGradients: (batch: Batch) => Promise<BatchResult>
  readonly optimizer: Optimizer
  /**
   * Turns the means of this rank into all ranks', by calls to the executor. Takes over the losses. The gradients stay the
   * caller's, but may be overwritten and returned as the result; other results are the caller's to dispose. There may be no
   * batches here: `own.gradients` is empty then.
   */
  readonly overRanks?: ((own: StepMeans & { readonly weight: number }) => Promise<StepMeans>) | undefined
}

interface StepOutcome {
  /** Mean over the batches, by their weights. */
  readonly loss: number
  /** Global norm before clipping. */
  readonly gradientNorm: number
  /** True when loss or gradients were not finite: nothing was updated. */
  readonly skipped: boolean
}

export interface TrainingStep {
  /** The outcome is computed: to wait for it costs nothing. */
  readonly isKnown: boolean
  /** The result of the step; waits for the device, and takes a skipped update out of the optimizer's count. */
  outcome(): Promise<StepOutcome>
}

/**
 * One update over the mean gradients of `batches`, by their weights. On executors with `Backend.steps` all of it is queued and nothing is
 * read: the device itself leaves out an update that is not finite. Elsewhere the outcome is known when it resolves.
 *
 * @param before the step before this one, if its outcome was not read: a failure restores the count behind it
 */
export async function trainingStep<Batch>(
  options: TrainingStepOptions<Batch>,
  batches: readonly Batch[],
  learningRate: number,
  before?: TrainingStep,
): Promise<TrainingStep> {
  const { optimizer, batchGradients, overRanks } = options
  const { backend } = optimizer
  const { steps } = backend
  let isCounted = false
  /** The losses and the norm, which outlive `step`: a failure disposes them. */
  const scalars: BackendTensor[] = []
  const step = async (): Promise<StepOutcome | Queued> => {
    using accumulator = new GradientAccumulator(backend, optimizer.variables)
    for (const batch of batches) accumulator.add(await batchGradients(batch), batch)
    const own = { gradients: accumulator.mean(), losses: accumulator.takeLosses(), weight: accumulator.weight }
    const { losses, gradients } = overRanks === undefined ? own : await overRanks(own)
    using _summed = disposing(gradients === own.gradients ? [] : gradients)
    scalars.push(...losses.map(({ loss }) => loss).filter((loss) => isBackendTensor(loss)))
    const norm = clipGradients(backend, gradients, options)
    scalars.push(norm)
    const queued = { losses, norm, scalars }
    const update = () => {
      optimizer.apply(gradients, learningRate)
      isCounted = true
    }
    if (steps !== undefined && losses.every(({ loss }) => isBackendTensor(loss) || Number.isFinite(loss))) {
      steps.whereFinite(scalars, update)
      return queued
    }
    const outcome = await readOutcome(queued)
    if (!outcome.skipped) update()
    return outcome
  }
  let done: StepOutcome | Queued
  try {
    done = await (steps === undefined ? step() : steps.run(step))
  } catch (error) {
    await before?.outcome().catch(() => {})
    // The update may have been queued behind the operation that failed.
    if (isCounted) optimizer.restoreStep(optimizer.step - 1)
    for (const scalar of scalars) scalar.dispose()
    throw error
  }
  if (!('norm' in done)) return { isKnown: true, outcome: async () => done }
  const queued = done
  const settled = async () => {
    const outcome = await readOutcome(queued)
    if (outcome.skipped) optimizer.uncount()
    return outcome
  }
  let outcome: Promise<StepOutcome> | undefined
  return {
    isKnown: false,
    outcome() {
      outcome ??= settled()
      return outcome
    },
  }
}

function disposing(tensors: readonly BackendTensor[]): Disposable {
  return {
    [Symbol.dispose]() {
      for (const tensor of tensors) tensor.dispose()
    },
  }
}

interface Queued {
  readonly losses: readonly WeightedLoss[]
  readonly norm: BackendTensor
  /** The losses and norm that are on the executor. */
  readonly scalars: readonly BackendTensor[]
}

/** Reads and disposes the tensors. */
async function readOutcome({ losses, norm, scalars }: Queued): Promise<StepOutcome> {
  try {
    const reads = losses.map(async ({ loss }) => (isBackendTensor(loss) ? (await loss.read()).data[0] : loss))
    const [gradientNorm, ...values] = await Promise.all([norm.read().then(({ data }) => data[0]), ...reads])
    const total = losses.reduce((sum, { weight }) => sum + weight, 0)
    const loss = total === 0 ? values[0] : values.reduce((sum, value, k) => sum + (losses[k].weight * value) / total, 0)
    return { loss, gradientNorm, skipped: !(Number.isFinite(gradientNorm) && Number.isFinite(loss)) }
  } finally {
    for (const scalar of scalars) scalar.dispose()
  }
}
