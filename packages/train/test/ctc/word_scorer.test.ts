import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { NGramModel, wordScorer } from '../../src/ctc/index.js'

const ALPHABET = ['a', 'b', ' '] as const

// The model of character_scorer.test.ts, with words for tokens: 'a' begins, 'ab' follows, then comes the end.
const MODEL = NGramModel.train([['a', 'ab']], { order: 2 })
const FOLLOWING = Math.log((1 + 1.75 / 6) / 2)
/** A word that was not counted, at the begin: (3·1/4)/6, then the second term alone. */
const UNKNOWN = Math.log(0.75 / 6 / 2)

/** The scores of each character of a text, and of the end. */
function scoresOf(scorer: ReturnType<typeof wordScorer>, text: string, alphabet: readonly string[] = ALPHABET) {
  let state = scorer.initialState
  const scores = [...text].map((character) => {
    const next = scorer.extend(state, alphabet.indexOf(character))
    state = next.state
    return next.score
  })
  return [...scores, scorer.end?.(state)]
}

const close = (...scores: readonly number[]) =>
  scores.map((score) => (Number.isFinite(score) ? expect.closeTo(score, 12) : score))

describe('wordScorer', () => {
  it('scores a word where it ends: at the separator, or with the row', () => {
    expect(scoresOf(wordScorer(MODEL, ALPHABET), 'a ab')).toEqual(close(0, FOLLOWING, 0, 0, FOLLOWING))
    expect(scoresOf(wordScorer(MODEL, ALPHABET), 'a ab ')).toEqual(close(0, FOLLOWING, 0, 0, FOLLOWING, 0))
  })

  it('counts no word between two separators, before the first word and in an empty row', () => {
    expect(scoresOf(wordScorer(MODEL, ALPHABET), '')).toEqual([0])
    expect(scoresOf(wordScorer(MODEL, ALPHABET), ' a  ab')).toEqual(close(0, 0, FOLLOWING, 0, 0, 0, FOLLOWING))
  })

  it('multiplies by the weight, and adds the bonus for each word', () => {
    const scorer = wordScorer(MODEL, ALPHABET, { weight: 0.5, wordBonus: 2 })
    expect(scoresOf(scorer, 'a ab')).toEqual(close(0, FOLLOWING / 2 + 2, 0, 0, FOLLOWING / 2 + 2))
  })

  it('takes an unknown word for one that was never counted', () => {
    expect(scoresOf(wordScorer(MODEL, ALPHABET), 'bb')).toEqual(close(0, 0, UNKNOWN))
  })

  it('forbids letters that begin no word, and words that are only the begin of one, where it is restricted', () => {
    const scorer = wordScorer(NGramModel.train([['ab']]), ALPHABET, { restricted: true })
    const never = Number.NEGATIVE_INFINITY
    expect(scoresOf(scorer, 'b')).toEqual([never, never])
    expect(scoresOf(scorer, 'a')).toEqual([0, never])
    expect(scoresOf(scorer, 'a ')).toEqual([0, never, 0])
    expect(scoresOf(scorer, 'ab').at(-1)).toBeGreaterThan(never)
    // Not spelled as a word, separators stay possible.
    expect(scoresOf(scorer, ' ')).toEqual([0, 0])
  })

  it('separates words by the separator that is given', () => {
    const alphabet = ['a', 'b', '|']
    const scorer = wordScorer(MODEL, alphabet, { separator: '|' })
    expect(scoresOf(scorer, 'a|ab', alphabet)).toEqual(close(0, FOLLOWING, 0, 0, FOLLOWING))
  })

  it('extends one state by several labels without changing it, as prefixes of a beam share it', () => {
    const scorer = wordScorer(MODEL, ALPHABET)
    const { state } = scorer.extend(scorer.initialState, 0)
    const before = structuredClone(state)
    for (const label of [0, 1, 2]) scorer.extend(state, label)
    expect(state).toEqual(before)
    expect(scorer.initialState).toEqual({ words: [], letters: '' })
  })

  it.each<[string, () => unknown, string]>([
    ['an object that is not a model', () => wordScorer({} as never, ALPHABET), 'ERR_LANGUAGE_MODEL'],
    [
      'a separator that is a number',
      () => wordScorer(MODEL, ALPHABET, { separator: 1 as never }),
      'ERR_INVALID_OPTION_TYPE',
    ],
    [
      'a restriction that is a list',
      () => wordScorer(MODEL, ALPHABET, { restricted: [] as never }),
      'ERR_INVALID_OPTION_TYPE',
    ],
    ['a bonus that is NaN', () => wordScorer(MODEL, ALPHABET, { wordBonus: Number.NaN }), 'ERR_HYPERPARAMETER'],
    ['an option of characterScorer', () => wordScorer(MODEL, ALPHABET, { bonus: 1 } as never), 'ERR_UNKNOWN_OPTION'],
  ])('refuses %s', (_, call, code) => {
    expect(call).toThrow(coded(code))
  })
})
