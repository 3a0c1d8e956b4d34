import { describeValue } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'

/**
 * Scores the prefixes of a beam search, for example by a language model. `State` is the scorer's own record of a prefix; the
 * decoder passes it along and does not read it.
 *
 * @example
 * ```ts
 * import type { PrefixScorer } from '@cudnn-rnn/rnn/ctc'
 *
 * // Prefers label 0 to follow label 1.
 * const scorer: PrefixScorer<number> = {
 *   initialState: -1,
 *   extend: (last, label) => ({ state: label, score: last === 1 && label === 0 ? 1 : 0 }),
 * }
 * console.log(scorer.extend(1, 0).score) // 1
 * ```
 */
export interface PrefixScorer<State> {
  /** Initial state of the empty prefix. */
  readonly initialState: State
  /**
   * The state after `label` is appended, and the term added to the log-probability of the longer prefix: a weighted
   * logarithm of the label's probability, -∞ for a label that must not follow. Called once for each prefix.
   */
  extend(state: State, label: number): { readonly state: State; readonly score: number }
  /** Added at the end of the row, for what only the end makes known. Default 0. */
  end?(state: State): number
}

/** The largest score: the sum over any row stays finite. */
const MOST = 1e30

/** What `extend` returns, checked: the decoder would spread a wrong score over all prefixes. */
export function extended<State>(scorer: PrefixScorer<State>, state: State, label: number) {
  const result: unknown = scorer.extend(state, label)
  const { score } = (result ?? {}) as { score?: unknown }
  if (!isScore(score)) throw wrongScore('extend must return { state, score } with a score', result, score)
  return result as ReturnType<PrefixScorer<State>['extend']>
}

/** What `end` returns, checked; 0 for a scorer without it. */
export function endScore<State>(scorer: PrefixScorer<State>, state: State): number {
  const score: unknown = scorer.end === undefined ? 0 : scorer.end(state)
  if (!isScore(score)) throw wrongScore('end must return a score', score, score)
  return score
}

function isScore(value: unknown): value is number {
  return typeof value === 'number' && value <= MOST && (value >= -MOST || value === Number.NEGATIVE_INFINITY)
}

function wrongScore(rule: string, result: unknown, score: unknown) {
  const current = typeof score === 'number' ? score : result
  return codedTypeError(
    'ERR_CTC_SCORER',
    `Cannot decode by beam search as the scorer's ${rule} of -Infinity or from ${-MOST} to ${MOST}: current value is ${describeValue(current)}`,
    { argument: 'scorer', value: current },
  )
}
