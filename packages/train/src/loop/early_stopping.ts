import { FLAG, NUMBER, type OptionsOf, oneOf, optional, optionFields, TEXT, where } from '@cudnn-rnn/canonical/rules'
import type { TrainingRecord } from './training_saver.js'

const OPTIONS = {
  /** Name of a metric that `evaluate` returns. */
  metric: TEXT,
  /** Evaluations without an improvement until training stops, at least 1; default Infinity: only record the best. */
  patience: optional(where(NUMBER, 'a number >= 1', (count) => count >= 1)),
  /** Default 'min'. */
  mode: optional(oneOf(['min', 'max'])),
  /** Smallest decrease that counts as an improvement; default 0. */
  minDelta: optional(where(NUMBER, 'a finite number', Number.isFinite)),
  /**
   * Ends with the variables of the best evaluation in place of the last: of the saver's best checkpoint, or of a copy beside the
   * variables. Default false.
   */
  restoreBestWeights: optional(FLAG),
}

export const EARLY_STOPPING = optionFields(OPTIONS)

/** When a training has stopped to improve. */
export interface EarlyStoppingOptions extends OptionsOf<typeof OPTIONS> {}

/** The best so far after one more evaluation; NaN and the infinities never are. */
export function watchBest(
  best: TrainingRecord['best'],
  value: number,
  step: number,
  { mode = 'min', minDelta = 0 }: EarlyStoppingOptions,
): { readonly best: TrainingRecord['best']; readonly improved: boolean } {
  const sign = mode === 'min' ? 1 : -1
  const improved = Number.isFinite(value) && (best === null || sign * (best.value - value) > minDelta)
  if (improved) return { best: { value, step, evaluationsSince: 0 }, improved }
  return { best: best && { ...best, evaluationsSince: best.evaluationsSince + 1 }, improved }
}
