import { describe, expect, it } from 'vitest'
import { mostFrequentWords, wordsOf } from '../../src/tasks/words.js'

describe('wordsOf', () => {
  it.each([
    ['Free ENTRY now!', ['free', 'entry', 'now', '!']],
    ["don't can’t it's'", ["don't", 'can', 't', "it's"]],
    ['Win £1000, call 08 or 12345', ['win', '<4 digits>', 'call', '<2 digits>', 'or', '<5 digits>']],
    ['a1b2', ['a', '<1 digits>', 'b', '<1 digits>']],
    ['Straße ÉTÉ Ελλάδα 日本', ['straße', 'été', 'ελλάδα', '日本']],
    ['e\u0301te\u0301 \u00e9t\u00e9', ['\u00e9t\u00e9', '\u00e9t\u00e9']],
    ['हिन्दी நீங்கள்', ['हिन्दी', 'நீங்கள்']],
    ['x\u0304’s x\u0304', ['x\u0304', 's', 'x\u0304']],
    ['١٢٣', ['<3 digits>']],
    ['50% off @ #1?!', ['<2 digits>', '%', 'off', '@', '#', '<1 digits>', '?', '!']],
    [' . , ; : — … \n\t', []],
    ['', []],
  ])('of %j', (text, words) => {
    expect(wordsOf(text)).toEqual(words)
  })
})

describe('mostFrequentWords', () => {
  it('orders by count, then by the alphabet, and leaves out words that occur once', () => {
    const texts = ['b b a', 'a c c c once', 'B']
    expect(mostFrequentWords(texts, 10)).toEqual(['b', 'c', 'a'])
    expect(mostFrequentWords(texts, 2)).toEqual(['b', 'c'])
    expect(mostFrequentWords([], 5)).toEqual([])
  })

  it('counts words that are names of object properties', () => {
    expect(mostFrequentWords(['constructor constructor toString tostring'], 5)).toEqual(['constructor', 'tostring'])
  })
})
