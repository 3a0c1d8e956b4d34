import type { TrainingRecord } from './training_saver.js'

export interface EarlyStoppingOptions {
  /** Name of a metric that `evaluate` returns. */
  readonly metric: string
  /** Evaluations without an improvement until training stops; default Infinity: only record the best. */
  readonly patience?: number | undefined
  /** Default 'min'. */
  readonly mode?: 'min' | 'max' | undefined
  /** Smallest decrease that counts as an improvement; default 0. */
  readonly minDelta?: number | undefined
}

/** The best so far after one more evaluation; NaN never is. */
export function watchBest(
  best: TrainingRecord['best'],
  value: number,
  step: number,
  { mode = 'min', minDelta = 0 }: EarlyStoppingOptions,
): { readonly best: TrainingRecord['best']; readonly improved: boolean } {
  const sign = mode === 'min' ? 1 : -1
  const improved = !Number.isNaN(value) && (best === null || sign * (best.value - value) > minDelta)
  if (improved) return { best: { value, step, evaluationsSince: 0 }, improved }
  return { best: best && { ...best, evaluationsSince: best.evaluationsSince + 1 }, improved }
}
