import { performance } from 'node:perf_hooks'
import type { Adam } from './adam.js'
import { type CarriedState, type CharLanguageModel, disposeState } from './char_language_model.js'
import { bitsPerCharacter } from './evaluation.js'
import { Lanes } from './lanes.js'
import { learningRateAt } from './learning_rate.js'
import type { TextCorpus } from './text_corpus.js'

/** How long and how to train; saved with every run, so that a resumed run goes on alike. */
export interface TrainingPlan {
  /** Updates of the whole run. */
  readonly steps: number
  /** T, characters per window. */
  readonly time: number
  /** B, lanes. */
  readonly batch: number
  readonly learningRate: number
  /** Evaluate on the held-out text every so many steps, and at the end. */
  readonly evaluateEvery: number
  readonly seed: number
}

/** One update, as it is logged. */
export interface StepRecord {
  /** Counted from 1. */
  readonly step: number
  /** Training loss of the window in bits per character. */
  readonly bits: number
  readonly gradientNorm: number
  readonly learningRate: number
  /** Bits per character on the held-out text, at the steps where it was evaluated. */
  readonly heldOutBits?: number
}

/** Where a run stands: what a checkpoint must hold beside the variables. */
export interface TrainingPosition {
  /** Updates done. */
  readonly step: number
  readonly state: CarriedState
}

/** Why training ended. */
export type Ending = 'finished' | 'interrupted' | 'out of time'

export interface TrainingObserver {
  /** After every update. */
  onStep(record: StepRecord, charactersPerSecond: number): void
  /** When the position may be saved: every `evaluateEvery` steps and at the end. */
  onCheckpoint(position: TrainingPosition): Promise<void>
}

/**
 * Trains until the plan is done, the signal fires or the time is up; whatever the ending, the last position has been
 * handed to `onCheckpoint` before this returns. Takes over `start.state`.
 */
export async function train(
  model: CharLanguageModel,
  adam: Adam,
  corpus: TextCorpus,
  plan: TrainingPlan,
  start: TrainingPosition,
  observer: TrainingObserver,
  limits: { readonly signal?: AbortSignal; readonly maxSeconds?: number } = {},
): Promise<{ readonly ending: Ending; readonly step: number }> {
  const lanes = new Lanes(corpus.train, plan.time, plan.batch)
  const began = performance.now()
  let { step, state } = start
  let ending: Ending = 'finished'
  let trained = 0
  let trainingSeconds = 0
  try {
    while (step < plan.steps) {
      ending = limitReached(limits, began)
      if (ending !== 'finished') break
      const stepBegan = performance.now()
      const window = lanes.window(step)
      if (window.restarts) {
        disposeState(state)
        state = null
      }
      const learningRate = learningRateAt(step, plan)
      const result = await model.trainStep(window, state, adam, learningRate, step + 1)
      state = result.state
      step++
      trained += plan.time * plan.batch
      trainingSeconds += (performance.now() - stepBegan) / 1000

      const evaluate = step % plan.evaluateEvery === 0 || step === plan.steps
      const record = { step, bits: result.loss / Math.LN2, gradientNorm: result.gradientNorm, learningRate }
      const heldOut = evaluate ? { heldOutBits: await bitsPerCharacter(model, corpus.heldOut) } : {}
      observer.onStep({ ...record, ...heldOut }, trained / trainingSeconds)
      if (evaluate && step < plan.steps) await observer.onCheckpoint({ step, state })
      // The executor may compute on this very thread: let signals and timers in.
      await new Promise(setImmediate)
    }
    await observer.onCheckpoint({ step, state })
    return { ending, step }
  } finally {
    disposeState(state)
  }
}

function limitReached(limits: { signal?: AbortSignal; maxSeconds?: number }, began: number): Ending {
  if (limits.signal?.aborted) return 'interrupted'
  const seconds = (performance.now() - began) / 1000
  return seconds >= (limits.maxSeconds ?? Number.POSITIVE_INFINITY) ? 'out of time' : 'finished'
}
