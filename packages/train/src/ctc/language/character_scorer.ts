import { checkOptions, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import { hyperparameter } from '@cudnn-rnn/ops/executor'
import type { PrefixScorer } from '../prefix_scorer.js'
import { checkScorerArguments, type NGramModel } from './ngram_model.js'

export const WEIGHT = optional(hyperparameter())
const OPTIONS = {
  /** Factor of the model's log-probabilities; default 1. */
  weight: WEIGHT,
  /** Added for every label, to offset the lower probability of longer texts. Default 0. */
  bonus: WEIGHT,
}

/** Options of {@link characterScorer}. */
export interface CharacterScorerOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * Scores every label by an n-gram model over characters.
 *
 * @param alphabet the character of each label, the blank left out.
 * @throws TypeError `ERR_LANGUAGE_MODEL`, `ERR_UNKNOWN_OPTION`; RangeError `ERR_HYPERPARAMETER`
 * @example
 * ```ts
 * import { characterScorer, NGramModel } from '@cudnn-rnn/rnn/ctc'
 *
 * const model = NGramModel.train([[...'banana'], [...'bandana']])
 * const scorer = characterScorer(model, ['a', 'b', 'n', 'd'], { weight: 0.5 })
 * const { state } = scorer.extend(scorer.initialState, 1) // b
 * console.log(scorer.extend(state, 0).score > scorer.extend(state, 3).score) // true
 * ```
 */
export function characterScorer(
  model: NGramModel,
  alphabet: readonly string[],
  options: CharacterScorerOptions = {},
): PrefixScorer<readonly string[]> {
  const action = 'score characters'
  checkScorerArguments(action, model, alphabet)
  const { weight = 1, bonus = 0 } = checkOptions(action, options, OPTIONS)
  return {
    initialState: [],
    extend: (context, label) => {
      const character = alphabet[label] ?? ''
      const score = weight * model.logProbability(context, character) + bonus
      return { state: nextContext(context, character, model.order), score }
    },
    end: (context) => weight * model.logProbability(context, null),
  }
}

/** What of a context the model looks at, after one more token. */
export function nextContext(context: readonly string[], token: string, order: number): readonly string[] {
  return [...context, token].slice(-order)
}
