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
  /** Of the empty prefix. */
  readonly initialState: State
  /**
   * The state after `label` is appended, and the term added to the log-probability of the longer prefix: a weighted
   * logarithm of the label's probability, -∞ for a label that must not follow. Called once for each prefix.
   */
  extend(state: State, label: number): { readonly state: State; readonly score: number }
  /** Added at the end of the row, for what only the end makes known. Default 0. */
  end?(state: State): number
}
