import { checkOptions, FLAG, type OptionsOf, optional, TEXT } from '@cudnn-rnn/canonical/rules'
import type { PrefixScorer } from '../prefix_scorer.js'
import { nextContext, WEIGHT } from './character_scorer.js'
import { checkScorerArguments, type NGramModel } from './ngram_model.js'

const OPTIONS = {
  /** Factor of the model's log-probabilities, DeepSpeech's α; default 1. */
  weight: WEIGHT,
  /** Added for every word, DeepSpeech's β; default 0. */
  wordBonus: WEIGHT,
  /** The separator of words; default a space. */
  separator: optional(TEXT),
  /** Only words of the model's vocabulary are read; default false. */
  restricted: optional(FLAG),
}

/** Options of {@link wordScorer}. */
export interface WordScorerOptions extends OptionsOf<typeof OPTIONS> {}

/** The words before, and the letters of the one that is being spelled. */
export interface WordState {
  readonly words: readonly string[]
  readonly letters: string
}

/**
 * Scores words by an n-gram model when they end: at a separator, and at the end of the row (as DeepSpeech's decoder).
 *
 * @param alphabet the character of each label, the blank left out.
 * @throws TypeError `ERR_LANGUAGE_MODEL`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_HYPERPARAMETER`
 * @example
 * ```ts
 * import { NGramModel, wordScorer } from '@cudnn-rnn/rnn/ctc'
 *
 * const model = NGramModel.train([['a', 'cab'], ['a', 'cab']], { order: 2 })
 * const scorer = wordScorer(model, ['a', 'b', 'c', ' '], { restricted: true })
 * const { state } = scorer.extend(scorer.initialState, 0) // a
 * console.log(scorer.extend(state, 1).score) // -Infinity
 * ```
 */
export function wordScorer(
  model: NGramModel,
  alphabet: readonly string[],
  options: WordScorerOptions = {},
): PrefixScorer<WordState> {
  const action = 'score words'
  checkScorerArguments(action, model, alphabet)
  const { weight = 1, wordBonus = 0, separator = ' ', restricted = false } = checkOptions(action, options, OPTIONS)
  const words = new Set(restricted ? model.vocabulary : [])
  const beginnings = new Set([...words].flatMap((word) => [...prefixesOf(word)]))
  const wordScore = ({ words: before, letters }: WordState) => {
    if (letters === '') return 0
    if (restricted && !words.has(letters)) return Number.NEGATIVE_INFINITY
    return weight * model.logProbability(before, letters) + wordBonus
  }
  return {
    initialState: { words: [], letters: '' },
    extend: (state, label) => {
      const character = alphabet[label] ?? ''
      if (character !== separator) {
        const letters = state.letters + character
        const isPossible = !restricted || beginnings.has(letters)
        return { state: { words: state.words, letters }, score: isPossible ? 0 : Number.NEGATIVE_INFINITY }
      }
      const next = state.letters === '' ? state.words : nextContext(state.words, state.letters, model.order)
      return { state: { words: next, letters: '' }, score: wordScore(state) }
    },
    end: wordScore,
  }
}

function* prefixesOf(word: string): Generator<string> {
  let prefix = ''
  for (const character of word) {
    prefix += character
    yield prefix
  }
}
