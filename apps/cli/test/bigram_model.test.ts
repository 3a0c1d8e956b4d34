import { describe, expect, it } from 'vitest'
import { BigramModel } from '../src/bigram_model.js'

/**
 * Worked by hand for the text 0 1 0 1 1 over three characters. Unigram, add one: 3/8, 4/8, 1/8. After 0 came 1 twice: one
 * follower in two. After 1 came 0 and 1 once each: two followers in two. After 2 came nothing.
 */
const model = new BigramModel(Int32Array.of(0, 1, 0, 1, 1), 3)

describe('BigramModel', () => {
  it.each([
    [0, [1 / 8, 5 / 6, 1 / 24]],
    [1, [7 / 16, 1 / 2, 1 / 16]],
    [2, [3 / 8, 4 / 8, 1 / 8]],
  ])('gives the probabilities computed by hand after character %i', (previous, expected) => {
    for (const [next, probability] of expected.entries()) {
      expect(model.probability(previous, next)).toBeCloseTo(probability, 14)
    }
  })

  it('measures bits per character over every character but the first', () => {
    // −log₂(5/6 · 1/2 · 1/16) / 3
    expect(model.bitsPerCharacter(Int32Array.of(0, 1, 1, 2))).toBeCloseTo((Math.log2(6 / 5) + 1 + 4) / 3, 14)
  })
})
