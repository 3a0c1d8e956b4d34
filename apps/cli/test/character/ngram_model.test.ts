import { describe, expect, it } from 'vitest'
import { NgramModel } from '../../src/character/ngram_model.js'

/**
 * Worked by hand for the text 0 1 0 1 1 over three characters. Unigram, add one: 3/8, 4/8, 1/8. After 0 came 1 twice: one
 * follower in two. After 1 came 0 and 1 once each: two followers in two. After 2 came nothing.
 */
const text = Int32Array.of(0, 1, 0, 1, 1)
const bigram = new NgramModel(2, text, 3)

describe('NgramModel', () => {
  it.each([
    [0, [1 / 8, 5 / 6, 1 / 24]],
    [1, [7 / 16, 1 / 2, 1 / 16]],
    [2, [3 / 8, 4 / 8, 1 / 8]],
  ])('of order 2 gives the probabilities computed by hand after character %i', (previous, expected) => {
    for (const [next, probability] of expected.entries()) {
      expect(bigram.probability(Int32Array.of(previous, next), 1)).toBeCloseTo(probability, 14)
    }
  })

  it('of order 3 smooths toward order 2: after 0 1 came 0 and 1 once each', () => {
    const trigram = new NgramModel(3, text, 3)
    const after01 = [0, 1, 2].map((next) => trigram.probability(Int32Array.of(0, 1, next), 2))
    for (const [next, expected] of [(1 + 2 * (7 / 16)) / 4, (1 + 2 * (1 / 2)) / 4, (2 * (1 / 16)) / 4].entries()) {
      expect(after01[next]).toBeCloseTo(expected, 14)
    }
    // Never met: the bigram's.
    expect(trigram.probability(Int32Array.of(2, 1, 0), 2)).toBeCloseTo(7 / 16, 14)
  })

  it('measures bits per character over every character but the first', () => {
    // −log₂(5/6 · 1/2 · 1/16) / 3
    expect(bigram.bitsPerCharacter(Int32Array.of(0, 1, 1, 2))).toBeCloseTo((Math.log2(6 / 5) + 1 + 4) / 3, 14)
  })
})
