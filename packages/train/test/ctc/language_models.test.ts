import { describe, expect, it, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { characterScorer, ctcBeamSearchDecoder, NGramModel, wordScorer } from '../../src/ctc/index.js'

const TEXTS = ['the cat sat', 'the cat ran', 'a cat sat on the mat']

describe('NGramModel', () => {
  it('refuses arguments of another kind with a code', () => {
    for (const sequences of [undefined, null, 3, {}, new DataView(new ArrayBuffer(8))])
      expect(() => NGramModel.train(sequences as never)).toThrow(coded('ERR_LANGUAGE_MODEL'))
    for (const context of [undefined, 'a', 3, { length: 2 ** 40 }])
      expect(() => model.logProbability(context as never, 'a')).toThrow(coded('ERR_LANGUAGE_MODEL'))
    expect(() => model.logProbability([], 3 as never)).toThrow(coded('ERR_LANGUAGE_MODEL'))
    for (const scorer of [characterScorer, wordScorer]) {
      expect(() => scorer(undefined as never, ['a'])).toThrow(coded('ERR_LANGUAGE_MODEL'))
      expect(() => scorer(model, undefined as never)).toThrow(coded('ERR_LANGUAGE_MODEL'))
    }
    const logits = { data: new Float32Array(3), shape: [1, 1, 3] }
    const scorer = { initialState: 0 } as never
    expect(() => ctcBeamSearchDecoder(logits, null, { scorer })).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })

  const model = NGramModel.train(
    TEXTS.map((text) => [...text]),
    { order: 4 },
  )

  it('has probabilities that add up to 1 after every context, the end and an unknown token included', () => {
    for (const context of [[], ['t'], [...'the'], [...'xyz'], [...'the cat s']]) {
      const tokens = [...model.vocabulary, '€', null]
      const sum = tokens.reduce((total, token) => total + Math.exp(model.logProbability(context, token)), 0)
      expect(sum).toBeCloseTo(1, 12)
    }
  })

  it('interpolates by Witten and Bell: counts over counts and kinds', () => {
    // After "a": b twice, c once. p(b | a) = (2 + 2·p(b)) / (3 + 2); without context a a a b b c and three ends of
    // four kinds, the rest uniform over a, b, c, the end and the unknown: p(b) = (2 + 4/5) / (9 + 4).
    const small = NGramModel.train(
      [
        ['a', 'b'],
        ['a', 'b'],
        ['a', 'c'],
      ],
      { order: 2 },
    )
    expect(Math.exp(small.logProbability(['a'], 'b'))).toBeCloseTo((2 + 2 * ((2 + 4 / 5) / 13)) / 5, 12)
  })

  it('is restored from JSON with the same probabilities', () => {
    const again = NGramModel.fromJSON(JSON.parse(JSON.stringify(model)))
    for (const token of [...model.vocabulary, null, '€']) {
      expect(again.logProbability([...'the c'], token)).toBe(model.logProbability([...'the c'], token))
    }
    expect(JSON.stringify(again)).toBe(JSON.stringify(model))
  })

  const saved = model.toJSON()
  test.each([
    ['null', null],
    ['another format', { ...saved, format: 'arpa' }],
    ['another version', { ...saved, version: 2 }],
    ['an order of 0', { ...saved, order: 0 }],
    ['repeated tokens', { ...saved, tokens: ['', 'a', 'a'] }],
    ['a count of a token that is not there', { ...saved, counts: { '': [999, 1] } }],
    ['a negative count', { ...saved, counts: { '': [1, -1] } }],
    ['half a count', { ...saved, counts: { '': [1] } }],
  ])('refuses %s', (_name, value) => {
    expect(() => NGramModel.fromJSON(value as never)).toThrow(coded('ERR_LANGUAGE_MODEL'))
  })

  it('refuses orders and sequences that cannot be counted', () => {
    expect(() => NGramModel.train([], { order: 0 })).toThrow(coded('ERR_INVALID_OPTION'))
    expect(() => NGramModel.train(['abc' as never])).toThrow(coded('ERR_LANGUAGE_MODEL'))
    expect(() => NGramModel.train([['']])).toThrow(coded('ERR_LANGUAGE_MODEL'))
  })
})

describe('scorers', () => {
  const alphabet = [...'abcehmnorst ']
  /** Logits that spell a text, a blank after each character, with one character confused. */
  const spelled = (text: string, confused: Readonly<Record<number, string>>) => {
    const K = alphabet.length + 1
    const data = new Float32Array(2 * text.length * K)
    for (const [k, character] of [...text].entries()) {
      data[2 * k * K + alphabet.indexOf(character)] = 8
      if (confused[k] !== undefined) data[2 * k * K + alphabet.indexOf(confused[k])] = 8.5
      data[(2 * k + 1) * K + K - 1] = 8
    }
    return { data, shape: [2 * text.length, 1, K] }
  }
  const read = (result: ReturnType<typeof ctcBeamSearchDecoder>) =>
    result.decoded[0][0].map((k) => alphabet[k]).join('')
  const logits = spelled('the cat sat', { 4: 'h' })

  it('correct a character by those around it', () => {
    const model = NGramModel.train(
      TEXTS.map((text) => [...text]),
      { order: 4 },
    )
    expect(read(ctcBeamSearchDecoder(logits, null))).toBe('the hat sat')
    expect(read(ctcBeamSearchDecoder(logits, null, { scorer: characterScorer(model, alphabet) }))).toBe('the cat sat')
  })

  it('correct a word by those around it', () => {
    const model = NGramModel.train(
      [...TEXTS, 'a hat'].map((text) => text.split(' ')),
      { order: 2 },
    )
    const scorer = wordScorer(model, alphabet, { weight: 0.75, wordBonus: 1.85 })
    expect(read(ctcBeamSearchDecoder(logits, null, { scorer }))).toBe('the cat sat')
  })

  it('read no word but known ones where restricted', () => {
    const model = NGramModel.train([['ran']])
    const options = { scorer: wordScorer(model, alphabet, { restricted: true }), mergeRepeated: false }
    expect(read(ctcBeamSearchDecoder(spelled('cat', {}), null, options))).toBe('ran')
  })
})
