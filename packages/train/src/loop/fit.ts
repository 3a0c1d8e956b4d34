import { codedRangeError } from '@cudnn-rnn/canonical'
import { constantRate } from '../optimizers/learning_rate.js'
import { watchBest } from './early_stopping.js'
import { nextTurn } from './event_loop.js'
import { checkFitOptions, type FitOptions } from './fit_options.js'
import { NonFiniteError } from './non_finite_error.js'
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
 *   `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`, `ERR_NOT_A_BATCH_RESULT`; errors of batchGradients, evaluate, the
 *   saver and the data
 */
export async function fit<Batch>(options: FitOptions<Batch>): Promise<FitResult> {
  checkFitOptions(options)
  const { backend, optimizer, maxSteps, saver, state, signal } = options
  const { accumulate = 1, maxSkipped = 10, learningRate: rate } = options
  const rateOf = typeof rate === 'number' ? constantRate(rate) : rate
  const { evaluateEvery = Number.POSITIVE_INFINITY, saveEvery = Number.POSITIVE_INFINITY } = options

  await using _lock = await saver?.lock?.()
  const tensors = [...optimizer.variables, ...optimizer.slots, ...(state?.tensors ?? [])]
  const restored = await saver?.restore(tensors)
  if (restored !== undefined) {
    optimizer.restoreStep(restored.optimizerStep)
    await state?.restore?.(restored.extra)
  }
  let { step, best, skippedInARow } = restored ?? { step: 0, best: null, skippedInARow: 0 }
  const save = async (kind: 'latest' | 'best') => {
    if (saver === undefined) return
    const extra = (await state?.save?.()) ?? null
    const { position } = batches
    const record = { step, optimizerStep: optimizer.step, position, best, skippedInARow, extra }
    await saver.save(kind, tensors, record)
  }
  const evaluate = async () => {
    const metrics = await options.evaluate?.()
    if (options.earlyStopping === undefined || metrics === undefined) return { metrics, improved: false }
    const watched = watchBest(best, metricOf(metrics, options.earlyStopping.metric), step, options.earlyStopping)
    best = watched.best
    return { metrics, improved: watched.improved }
  }
  const hasStopped = () =>
    (best?.evaluationsSince ?? 0) >= (options.earlyStopping?.patience ?? Number.POSITIVE_INFINITY)

  let savedAt = step
  const batches = options.data.iterate(restored?.position)
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
    await options.onStep?.({ ...report, ...notes })
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
    backend.steps === undefined || isEvaluatedAt(step) || step % saveEvery === 0 || skippedInARow + 1 >= maxSkipped
  await options.onStart?.(step, resumed)
  try {
    while (step < maxSteps && ending === 'finished') {
      if (signal?.aborted) {
        ending = 'aborted'
        break
      }
      const began = performance.now()
      const taken: Batch[] = []
      while (taken.length < accumulate) {
        const { done, value } = await batches.next()
        if (done) break
        taken.push(value)
      }
      if (taken.length === 0) {
        ending = 'out of data'
        break
      }
      const learningRate = rateOf(step)
      const before = queued
      let work: TrainingStep
      try {
        work = await trainingStep(options, taken, learningRate, before?.work)
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
    return { step, ending, best, ...(skipped.length > 0 && { skipped }) }
  } finally {
    // After a failure: the count of updates is settled, and the step's results are disposed.
    await queued?.work.outcome().catch(() => {})
    await batches.return()
  }
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
