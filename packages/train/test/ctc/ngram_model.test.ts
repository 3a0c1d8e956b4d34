import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { NGramModel } from '../../src/ctc/index.js'

const refused = coded('ERR_LANGUAGE_MODEL')

/** Witten-Bell smoothing as its definition states it, from the counts of a list of padded sequences. */
function wittenBell(sequences: readonly string[][], order: number, context: readonly string[], token: string): number {
  const padded = sequences.map((tokens) => [...new Array<string>(order - 1).fill('^'), ...tokens, '$'])
  const vocabulary = new Set(sequences.flat()).size + 2
  const history = [...new Array<string>(order - 1).fill('^'), ...context].slice(context.length)
  let p = 1 / vocabulary
  for (let length = 0; length < order; length++) {
    const suffix = history.slice(history.length - length).join(' ')
    const followers = padded.flatMap((tokens) =>
      tokens.slice(order - 1).filter((_, k) => {
        const at = k + order - 1
        return tokens.slice(at - length, at).join(' ') === suffix
      }),
    )
    if (followers.length === 0) break
    const distinct = new Set(followers).size
    const count = followers.filter((each) => each === token).length
    p = (count + distinct * p) / (followers.length + distinct)
  }
  return p
}

describe('NGramModel', () => {
  it('smooths as Witten and Bell do', () => {
    const texts = [['abcab', 'ba', 'cc'], ['aaaa'], ['ab', '', 'ab'], ['abcabcabd', 'cab']]
    const contexts = ['', 'a', 'b', 'ab', 'bca', 'zz', 'azb', 'abcab']
    for (const sequences of texts.map((each) => each.map((text) => [...text]))) {
      for (const order of [1, 2, 3, 4]) {
        const model = NGramModel.train(sequences, { order })
        for (const context of contexts.map((each) => [...each])) {
          for (const token of ['a', 'b', 'z', '$']) {
            const p = Math.exp(model.logProbability(context, token === '$' ? null : token))
            expect(p).toBeCloseTo(wittenBell(sequences, order, context, token), 12)
          }
        }
      }
    }
  })

  it('is a hand-computed value for a small text', () => {
    // Unigrams of "ab": a, b and the end once each, d = c = 3; the uniform part is 1/4.
    const model = NGramModel.train([['a', 'b']], { order: 2 })
    const unigram = (1 + 3 / 4) / 6
    // After a: only b.
    expect(Math.exp(model.logProbability(['a'], 'b'))).toBeCloseTo((1 + unigram) / 2, 14)
    expect(Math.exp(model.logProbability(['a'], 'a'))).toBeCloseTo(unigram / 2, 14)
    expect(Math.exp(model.logProbability(['b'], null))).toBeCloseTo((1 + unigram) / 2, 14)
    // A context that was never seen: the shorter one.
    expect(Math.exp(model.logProbability(['z'], 'a'))).toBeCloseTo(unigram, 14)
    expect(Math.exp(model.logProbability(['z'], 'z'))).toBeCloseTo(3 / 4 / 6, 14)
  })

  it('is uniform over the end and an unknown token where nothing was counted', () => {
    const model = NGramModel.train([])
    expect(model.order).toBe(3)
    expect(model.vocabulary).toEqual([])
    expect(model.logProbability([], null)).toBeCloseTo(Math.log(1 / 2), 14)
    expect(model.logProbability(['a'], 'b')).toBeCloseTo(Math.log(1 / 2), 14)
  })

  it('looks at the last tokens of a context alone', () => {
    const model = NGramModel.train([[...'abcabcabd']], { order: 3 })
    expect(model.logProbability([...'abcab'], 'c')).toBe(model.logProbability([...'ab'], 'c'))
    expect(model.logProbability([...'ab'], 'c')).not.toBe(model.logProbability(['b'], 'c'))
  })

  it('has the same probabilities after JSON', () => {
    const model = NGramModel.train([[...'banana'], [...'bandana'], []], { order: 4 })
    const again = NGramModel.fromJSON(JSON.parse(JSON.stringify(model)))
    expect(again.toJSON()).toEqual(model.toJSON())
    expect(again.vocabulary).toEqual(['b', 'a', 'n', 'd'])
    for (const context of ['', 'b', 'an', 'ana', 'zzz']) {
      for (const token of ['a', 'z', null]) {
        expect(again.logProbability([...context], token)).toBe(model.logProbability([...context], token))
      }
    }
  })

  it('refuses sequences of other values', () => {
    for (const sequences of [[['a', '']], [['a', 1]], ['ab'], [null]]) {
      expect(() => NGramModel.train(sequences as never)).toThrow(refused)
    }
    for (const order of [0, 17, 2.5, Number.NaN]) {
      expect(() => NGramModel.train([], { order })).toThrow(coded('ERR_INVALID_OPTION', { value: order }))
    }
    expect(() => NGramModel.train([], { size: 2 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
  })

  it('refuses what toJSON() does not return', () => {
    const saved = NGramModel.train([['a', 'b']], { order: 2 }).toJSON()
    const damaged: Record<string, unknown>[] = [
      { ...saved, version: 2 },
      { ...saved, order: 17 },
      { ...saved, tokens: ['a', ''] },
      { ...saved, tokens: ['', 'a', 'a'] },
      { ...saved, tokens: ['', 1] },
      { ...saved, counts: { '': [1] } },
      { ...saved, counts: { '': [3, 1] } },
      { ...saved, counts: { '': [1, 0] } },
      { ...saved, counts: { '': [1, 0.5] } },
      { ...saved, counts: { '': [-1, 1] } },
      { ...saved, counts: null },
    ]
    for (const each of damaged) expect(() => NGramModel.fromJSON(each as never)).toThrow(refused)
    for (const each of [null, undefined, 'model', 3]) {
      expect(() => NGramModel.fromJSON(each as never)).toThrow(refused)
    }
  })

  it('refuses a context without counts, whose probabilities would not be numbers', () => {
    const saved = NGramModel.train([['a']], { order: 1 }).toJSON()
    expect(() => NGramModel.fromJSON({ ...saved, counts: { '': [] } })).toThrow(refused)
  })

  it('refuses a context that holds something other than strings', () => {
    const model = NGramModel.train([['a', 'b']], { order: 2 })
    for (const context of [[1], [null], ['a', undefined], [['a']]]) {
      expect(() => model.logProbability(context as never, 'b')).toThrow(refused)
    }
  })
})
