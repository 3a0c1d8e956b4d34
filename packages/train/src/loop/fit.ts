import { setImmediate } from 'node:timers/promises'
import { type Backend, checkHyperparameter } from '@cudnn-rnn/backend'
import { codedRangeError } from '@cudnn-rnn/canonical'
import type { Dataset } from '../data/dataset.js'
import type { Position } from '../data/source.js'
import type { Schedule } from '../optimizers/learning_rate.js'
import type { Optimizer } from '../optimizers/optimizer.js'
import type { Trainable } from '../optimizers/trainable.js'
import type { ClippingOptions } from './clip_gradients.js'
import { type EarlyStoppingOptions, watchBest } from './early_stopping.js'
import type { BatchResult } from './gradient_accumulator.js'
import { NonFiniteError } from './non_finite_error.js'
import type { TrainingRecord, TrainingSaver } from './training_saver.js'
import { trainingStep } from './training_step.js'

/** One step, as it is logged. */
export interface StepReport {
  /** Counted from 1. */
  readonly step: number
  /** Mean over the batches of the step. */
  readonly loss: number
  readonly learningRate: number
  /** Global norm before clipping. */
  readonly gradientNorm: number
  /** True when the gradients were not finite: nothing was updated. */
  readonly skipped: boolean
  /** Wall time of forward, backward and update: what alone differs between equal runs. */
  readonly seconds: number
  /** What `evaluate` returned, at the steps where it ran. */
  readonly metrics?: Readonly<Record<string, number>>
}

export interface FitOptions<Batch> extends ClippingOptions {
  readonly backend: Backend
  readonly data: Dataset<Batch>
  /** Runs forward and backward. */
  readonly batchGradients: (batch: Batch) => Promise<BatchResult>
  readonly optimizer: Optimizer
  readonly learningRate: Schedule
  /** Steps of the whole run, resumed ones included. Training also ends with the data. */
  readonly maxSteps: number
  /** Batches whose gradients are averaged into one update; default 1. */
  readonly accumulate?: number | undefined
  /** Steps skipped in a row for gradients that are not finite, until training stops; default 10. */
  readonly maxSkipped?: number | undefined
  readonly evaluate?: (() => Promise<Readonly<Record<string, number>>>) | undefined
  /** Evaluate and save every so many steps, and at the end; default only at the end. */
  readonly evaluateEvery?: number | undefined
  /** Watches a metric: the best is saved apart, and patience may end the training. */
  readonly earlyStopping?: EarlyStoppingOptions | undefined
  readonly saver?: TrainingSaver | undefined
  /** More that must be carried over a resume: tensors (a carried state), and JSON (dropout generators). */
  readonly state?:
    | {
        readonly tensors?: readonly Trainable[] | undefined
        readonly save?: (() => Position | Promise<Position>) | undefined
        readonly restore?: ((saved: Position) => void | Promise<void>) | undefined
      }
    | undefined
  /** Called once with the step that training goes on from, 0 for a new run: the moment to open logs. */
  readonly onStart?: ((step: number) => void | Promise<void>) | undefined
  /** Called after every step, before it is saved; what it throws ends the training. */
  readonly onStep?: ((report: StepReport) => void | Promise<void>) | undefined
  /** Ends the training after the step in progress, saved. */
  readonly signal?: AbortSignal | undefined
}

export interface FitResult {
  readonly step: number
  readonly ending: 'finished' | 'out of data' | 'stopped early' | 'aborted'
  readonly best: TrainingRecord['best']
}

/**
 * Trains until `maxSteps`, the end of the data, early stopping or the signal. With a saver it resumes from the latest
 * checkpoint, and what follows equals an uninterrupted run bit for bit on the same executor.
 *
 * @throws NonFiniteError `ERR_NON_FINITE_GRADIENTS`; RangeError `ERR_HYPERPARAMETER`, `ERR_UNKNOWN_METRIC`; whatever
 *   batchGradients, evaluate, the saver and the data throw
 */
export async function fit<Batch>(options: FitOptions<Batch>): Promise<FitResult> {
  const { optimizer, maxSteps, saver, state, signal } = options
  const { accumulate = 1, maxSkipped = 10, evaluateEvery = Number.POSITIVE_INFINITY } = options
  checkHyperparameter('fit', 'maxSteps', maxSteps, { minimum: 0 })
  checkHyperparameter('fit', 'accumulate', accumulate, { minimum: 1 })
  for (const name of ['clipNorm', 'clipValue'] as const) {
    if (options[name] !== undefined) checkHyperparameter('fit', name, options[name], { minimum: 0 })
  }

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
  await options.onStart?.(step)
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
      const learningRate = options.learningRate(step)
      const { loss, gradientNorm, skipped } = await trainingStep(options, taken, learningRate)
      const seconds = (performance.now() - began) / 1000
      step++
      skippedInARow = skipped ? skippedInARow + 1 : 0
      const isMilestone = step % evaluateEvery === 0 || step === maxSteps
      const { metrics, improved } = isMilestone ? await evaluate() : { metrics: undefined, improved: false }
      await options.onStep?.({ step, loss, learningRate, gradientNorm, skipped, seconds, ...(metrics && { metrics }) })
      if (improved) await save('best')
      if (isMilestone) await save('latest')
      if (isMilestone) savedAt = step
      if (skippedInARow >= maxSkipped) throw new NonFiniteError(step, skippedInARow)
      if (hasStopped()) ending = 'stopped early'
      // The executor may compute on this very thread: let signals and timers in.
      await setImmediate()
    }
    if (savedAt !== step) {
      // After an interruption nobody waits for an evaluation.
      if (ending === 'out of data' && (await evaluate()).improved) await save('best')
      await save('latest')
    }
    return { step, ending, best }
  } finally {
    await batches.return()
  }
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
