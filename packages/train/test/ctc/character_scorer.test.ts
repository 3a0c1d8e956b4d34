import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { characterScorer, NGramModel } from '../../src/ctc/index.js'

// Witten and Bell by hand: of 'ab' each of a, b and the end was counted once, so each has (1 + 3·1/4)/6 without a context, and
// after the token before it (1 + 1·1.75/6)/2; another token has the second term alone.
const MODEL = NGramModel.train([[...'ab']], { order: 2 })
const FOLLOWING = (1 + 1.75 / 6) / 2
const OTHER = 1.75 / 6 / 2
const ALPHABET = ['a', 'b'] as const

describe('characterScorer', () => {
  it("scores each label by the model's probability after the labels before it, and the end after all", () => {
    const scorer = characterScorer(MODEL, ALPHABET)
    const a = scorer.extend(scorer.initialState, 0)
    expect(a.score).toBeCloseTo(Math.log(FOLLOWING), 12)
    const ab = scorer.extend(a.state, 1)
    expect(ab.score).toBeCloseTo(Math.log(FOLLOWING), 12)
    expect(scorer.end?.(ab.state)).toBeCloseTo(Math.log(FOLLOWING), 12)
    expect(scorer.extend(a.state, 0).score).toBeCloseTo(Math.log(OTHER), 12)
    expect(scorer.end?.(a.state)).toBeCloseTo(Math.log(OTHER), 12)
  })

  it('multiplies by the weight, and adds the bonus for each label but not for the end', () => {
    const scorer = characterScorer(MODEL, ALPHABET, { weight: 2, bonus: 0.5 })
    const { state, score } = scorer.extend(scorer.initialState, 0)
    expect(score).toBeCloseTo(2 * Math.log(FOLLOWING) + 0.5, 12)
    expect(scorer.end?.(state)).toBeCloseTo(2 * Math.log(OTHER), 12)
  })

  it('is the bonus alone where the weight is 0', () => {
    const scorer = characterScorer(MODEL, ALPHABET, { weight: 0, bonus: 3 })
    expect(scorer.extend(scorer.initialState, 1).score).toBeCloseTo(3, 12)
  })

  it('extends one state by several labels without changing it, as prefixes of a beam share it', () => {
    const scorer = characterScorer(MODEL, ALPHABET)
    const { state } = scorer.extend(scorer.initialState, 0)
    const before = [...state]
    const scores = [0, 1, 0].map((label) => scorer.extend(state, label).score)
    expect(scores[0]).toBe(scores[2])
    expect([...state]).toEqual(before)
    expect([...scorer.initialState]).toEqual([])
  })

  it('keeps no more of a long row than the model looks at', () => {
    const scorer = characterScorer(MODEL, ALPHABET)
    let { state } = scorer.extend(scorer.initialState, 0)
    for (let step = 0; step < 100; step++) ({ state } = scorer.extend(state, step % 2))
    expect(state.length).toBeLessThanOrEqual(MODEL.order)
    expect(scorer.extend(state, 0).score).toBeCloseTo(Math.log(OTHER), 12)
  })

  it.each<[string, () => unknown, string]>([
    ['an object that is not a model', () => characterScorer({} as never, ALPHABET), 'ERR_LANGUAGE_MODEL'],
    ['an alphabet that is a string', () => characterScorer(MODEL, 'ab' as never), 'ERR_LANGUAGE_MODEL'],
    ['a weight that is NaN', () => characterScorer(MODEL, ALPHABET, { weight: Number.NaN }), 'ERR_HYPERPARAMETER'],
    ['an infinite bonus', () => characterScorer(MODEL, ALPHABET, { bonus: Infinity }), 'ERR_HYPERPARAMETER'],
    [
      'an option of wordScorer',
      () => characterScorer(MODEL, ALPHABET, { wordBonus: 1 } as never),
      'ERR_UNKNOWN_OPTION',
    ],
  ])('refuses %s', (_, call, code) => {
    expect(call).toThrow(coded(code))
  })
})
