import { expect, it } from 'vitest'
import { encodeTexts, wordsOf } from '../../src/classify/text_examples.js'

const texts = Array.from({ length: 60 }, (_, n) => ({
  text: `word${'abc'[n % 3]} common ${n % 20 === 0 ? '' : `rare${n}`}`,
  label: n % 3 === 0 ? 'one' : 'two',
}))
const options = { vocabularySize: 5, maxLength: 2, seed: 1 }

it('wordsOf keeps words of any script, apostrophes, marks, and how long a number is', () => {
  expect(wordsOf("Don't pay 1000$! Größe=38 кит")).toEqual([
    "don't",
    'pay',
    '<4 digits>',
    '$',
    '!',
    'größe',
    '<2 digits>',
    'кит',
  ])
})

it('encodeTexts gives each part its share of every class, and no text to two of them', () => {
  const { train, validation, test, labels } = encodeTexts(texts, options)
  expect([train, validation, test].map((part) => part.length)).toEqual([42, 6, 12])
  const ones = (part: readonly { label: number }[]) =>
    part.filter(({ label }) => labels.symbols[label] === 'one').length
  expect([train, validation, test].map(ones)).toEqual([14, 2, 4])
})

it('encodeTexts knows the most frequent words of the training part, reads so many words, and never none', () => {
  const { words, train } = encodeTexts([...texts, { text: '', label: 'one' }, { text: '***', label: 'one' }], options)
  expect(words.symbols[0]).toBe('<unknown>')
  expect(words.symbols[1]).toBe('common')
  expect(words.size).toBe(5)
  expect(train.every(({ ids }) => ids.length >= 1 && ids.length <= 2)).toBe(true)
})
