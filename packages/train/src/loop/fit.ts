import { codedRangeError } from '@cudnn-rnn/canonical'
import type { World } from '../data/shard_stage.js'
import type { Position } from '../data/source.js'
import { constantRate } from '../optimizers/learning_rate.js'
import type { Trainable } from '../optimizers/trainable.js'
import { watchBest } from './early_stopping.js'
import { nextTurn } from './event_loop.js'
import { checkFitOptions, type FitOptions } from './fit_options.js'
import { NonFiniteError } from './non_finite_error.js'
import { parallelStep } from './parallel_step.js'
import { Ranks } from './ranks.js'
import type { SkippedCheckpoint, TrainingRecord } from './training_saver.js'
import { type TrainingStep, trainingStep } from './training_step.js'

export interface FitResult {
  readonly step: number
  readonly ending: 'finished' | 'out of data' | 'stopped early' | 'aborted'
  readonly best: TrainingRecord['best']
  /** Checkpoints that the resume skipped; absent if none. */
  readonly skipped?: readonly SkippedCheckpoint[]
}

/**
 * Trains until `maxSteps`, the end of the data, early stopping or the signal. With a saver it resumes from the newest whole
 * checkpoint, and later steps equal an uninterrupted run bit for bit on the same executor. A finished run continues if
 * `maxSteps` is larger than it was.
 *
 * @throws NonFiniteError `ERR_NON_FINITE_GRADIENTS`; RangeError `ERR_HYPERPARAMETER`, `ERR_UNKNOWN_METRIC`; TypeError
 *   `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`, `ERR_NOT_A_BATCH_RESULT`; over several ranks RangeError
 *   `ERR_RANKS_DIFFER`, `ERR_RANKS_DIVERGED`, `ERR_RANK_FAILED`; errors of batchGradients, evaluate, the
 *   saver and the data
 */
export async function fit<Batch>(options: FitOptions<Batch>): Promise<FitResult> {
  checkFitOptions(options)
  const { backend, optimizer, maxSteps, saver, state, signal } = options
  const { accumulate = 1, maxSkipped = 10, learningRate: rate } = options
  const rateOf = typeof rate === 'number' ? constantRate(rate) : rate
  const { evaluateEvery = Number.POSITIVE_INFINITY, saveEvery = Number.POSITIVE_INFINITY } = options

  using ranks = ranksOf(options)
  await using _lock = ranks === undefined ? await saver?.lock?.() : await ranks.lock(saver)
  const tensors = [...optimizer.variables, ...optimizer.slots, ...(state?.tensors ?? [])]
  await ranks?.compare(descriptionOf(options))
  const restored = ranks === undefined ? await saver?.restore(tensors) : await ranks.restore(saver, tensors)
  if (restored !== undefined) {
    optimizer.restoreStep(restored.optimizerStep)
    const { saved, by } = extraOf(restored, ranks?.rank ?? 0)
    const restoreState = () => state?.restore?.(saved, by)
    await (ranks === undefined ? restoreState() : ranks.attempt(restoreState))
  }
  let { step, best, skippedInARow } = restored ?? { step: 0, best: null, skippedInARow: 0 }
  const save = async (kind: 'latest' | 'best') => {
    if (saver === undefined) return
    const ownExtra = async () => (await state?.save?.()) ?? null
    const extra = ranks === undefined ? await ownExtra() : await ranks.agree(ownExtra)
    const { position } = batches!
    const record = { step, optimizerStep: optimizer.step, position, best, skippedInARow, extra }
    if (ranks === undefined) await saver.save(kind, tensors, record)
    else await ranks.first(() => saver.save(kind, tensors, { ...record, ranks: ranks.size }).then(() => null))
  }
  const evaluate = async () => {
    const metrics = await metricsOf(options, ranks)
    if (options.earlyStopping === undefined || metrics === undefined) return { metrics, improved: false }
    const watched = watchBest(best, metricOf(metrics, options.earlyStopping.metric), step, options.earlyStopping)
    best = watched.best
    return { metrics, improved: watched.improved }
  }
  const hasStopped = () =>
    (best?.evaluationsSince ?? 0) >= (options.earlyStopping?.patience ?? Number.POSITIVE_INFINITY)

  let savedAt = step
  const read = () => options.data.iterate(restored?.position)
  // Undefined where this rank failed to open its data, which the first call of all ranks throws.
  const batches = ranks === undefined ? read() : await ranks.attempt(read)
  let ending: FitResult['ending'] = hasStopped() ? 'stopped early' : 'finished'
  const skipped = restored?.skipped ?? []
  let resumed = restored && { step, skipped }
  /** The step that was queued last, until its outcome is read. */
  let queued: QueuedStep | undefined
  let reportedAt = 0
  /** Waits for a step, reports it, and runs the evaluations and saves that are due after it. */
  const settle = async ({ number, work, learningRate, began }: QueuedStep) => {
    if (queued?.number === number) queued = undefined
    const { loss, gradientNorm, skipped: updateSkipped } = await work.outcome()
    const now = performance.now()
    const seconds = (now - Math.max(began, reportedAt)) / 1000
    reportedAt = now
    skippedInARow = updateSkipped ? skippedInARow + 1 : 0
    const isEvaluated = isEvaluatedAt(number)
    const { metrics, improved } = isEvaluated ? await evaluate() : { metrics: undefined, improved: false }
    const report = { step: number, loss, learningRate, gradientNorm, skipped: updateSkipped, seconds }
    const notes = { ...(metrics && { metrics }), ...(resumed && skipped.length > 0 && { resumed }) }
    resumed = undefined
    const announce = () => options.onStep?.({ ...report, ...notes })
    await (ranks === undefined ? announce() : ranks.attemptFirst(announce))
    if (improved) await save('best')
    if (isEvaluated || number % saveEvery === 0) {
      await save('latest')
      savedAt = number
    }
    if (skippedInARow >= maxSkipped) throw new NonFiniteError(number, skippedInARow)
    if (hasStopped()) ending = 'stopped early'
  }
  const isEvaluatedAt = (number: number) => number % evaluateEvery === 0 || number === maxSteps
  /** Whether the outcome of a step must be known before the next one begins. */
  const mustSettle = () =>
    ranks !== undefined ||
    backend.steps === undefined ||
    isEvaluatedAt(step) ||
    step % saveEvery === 0 ||
    skippedInARow + 1 >= maxSkipped
  const start = () => options.onStart?.(step, resumed)
  await (ranks === undefined ? start() : ranks.attemptFirst(start))
  const take = async () => {
    const taken: Batch[] = []
    while (taken.length < accumulate) {
      const { done, value } = await batches!.next()
      if (done) break
      taken.push(value)
    }
    return taken
  }
  try {
    /** A signal of one rank ends all of them after the step in which it came. */
    let isAborted = ranks === undefined ? () => signal?.aborted === true : await stoppedAtStart(ranks, options)
    while (step < maxSteps && ending === 'finished') {
      if (isAborted()) {
        ending = 'aborted'
        break
      }
      const began = performance.now()
      const taken = ranks === undefined ? await take() : ((await ranks.attempt(take)) ?? [])
      if (ranks === undefined && taken.length === 0) {
        ending = 'out of data'
        break
      }
      const learningRate = rateOf(step)
      const before = queued
      let work: TrainingStep
      try {
        if (ranks === undefined) work = await trainingStep(options, taken, learningRate, before?.work)
        else {
          const done = await parallelStep(options, ranks, taken, learningRate, () => signal?.aborted === true)
          if (done === undefined) {
            ending = 'out of data'
            break
          }
          work = done.work
          isAborted = () => done.isStopping
        }
      } catch (error) {
        if (before) await settle(before).catch(() => {})
        throw error
      }
      step++
      queued = { number: step, work, learningRate, began }
      // The device computes this step while the one before it is reported.
      if (before) await settle(before)
      if (mustSettle()) await settle(queued)
      // The executor may compute on this very thread: let signals and timers in.
      await nextTurn()
    }
    if (queued) await settle(queued)
    if (savedAt !== step) {
      // An interrupted run does not evaluate.
      if (ending === 'out of data' && (await evaluate()).improved) await save('best')
      await save('latest')
    }
    // A failure of the first rank after the last step is known to all.
    await ranks?.agree(() => null)
    return { step, ending, best, ...(skipped.length > 0 && { skipped }) }
  } finally {
    // After a failure: the count of updates is settled, and the step's results are disposed.
    await queued?.work.outcome().catch(() => {})
    await batches?.return()
  }
}

function ranksOf<Batch>({ communicator, backend, optimizer }: FitOptions<Batch>): Ranks | undefined {
  if (communicator === undefined || communicator.size === 1) return undefined
  return new Ranks(communicator, backend, optimizer.variables)
}

/** The settings that all ranks of a training must share. */
function descriptionOf<Batch>(options: FitOptions<Batch>): Readonly<Record<string, unknown>> {
  const { backend, optimizer, state } = options
  const { accumulate, clipNorm, clipValue, evaluateEvery, saveEvery, earlyStopping, maxSkipped, maxSteps } = options
  const { learningRate } = options
  const form = ({ name, value }: Trainable) => [name, value.shape, value.dtype, value.layout]
  return {
    executor: [backend.name, backend.dtype],
    optimizer: optimizer.constructor.name,
    variables: optimizer.variables.map(form),
    slots: optimizer.slots.map(form),
    state: state?.tensors?.map(form),
    ...{ accumulate, clipNorm, clipValue, evaluateEvery, saveEvery, earlyStopping, maxSkipped, maxSteps },
    learningRate: typeof learningRate === 'number' ? learningRate : learningRate(0),
    evaluation: options.evaluate !== undefined,
    saver: options.saver !== undefined,
  }
}

/** The state of this rank, or of another where the training was saved over another number of ranks. */
function extraOf({ extra, ranks }: TrainingRecord, rank: number): { readonly saved: Position; readonly by: World } {
  if (ranks === undefined) return { saved: extra, by: { rank: 0, size: 1 } }
  const by = { rank: rank % ranks, size: ranks }
  return { saved: (extra as readonly Position[])[by.rank]!, by }
}

async function stoppedAtStart<Batch>(ranks: Ranks, { signal }: FitOptions<Batch>): Promise<() => boolean> {
  const aborted = await ranks.agree(() => signal?.aborted === true)
  return () => aborted.includes(true)
}

/** The metrics of `evaluate`, the same on all ranks. */
async function metricsOf<Batch>(
  { evaluate }: FitOptions<Batch>,
  ranks: Ranks | undefined,
): Promise<Readonly<Record<string, number>> | undefined> {
  if (ranks === undefined) return await evaluate?.()
  await ranks.compareVariables()
  if (evaluate === undefined) return undefined
  // JSON has no infinity.
  const [first] = await ranks.agree(async () => Object.entries(await evaluate()).map(([name, m]) => [name, String(m)]))
  return Object.fromEntries(first.map(([name, metric]) => [name, Number(metric)]))
}

/** A step whose outcome is not known. */
interface QueuedStep {
  readonly number: number
  readonly work: TrainingStep
  readonly learningRate: number
  /** Milliseconds of `performance.now()`. */
  readonly began: number
}

function metricOf(metrics: Readonly<Record<string, number>>, name: string): number {
  const value = metrics[name]
  if (value !== undefined) return value
  throw codedRangeError(
    'ERR_UNKNOWN_METRIC',
    `Cannot watch ${name} as evaluate must return it: current metrics are ${Object.keys(metrics).join(', ') || 'none'}`,
    { metric: name },
  )
}
