import { expect, it } from 'vitest'
import { splitTexts } from '../../src/classify/split_texts.js'

it('splitTexts gives each part its share of every class, and no text to two of them', () => {
  const texts = Array.from({ length: 60 }, (_, n) => ({ text: `text ${n}`, label: n % 3 === 0 ? 'one' : 'two' }))
  const { train, validation, test } = splitTexts(texts, 1)
  expect([train, validation, test].map((part) => part.length)).toEqual([42, 6, 12])
  const ones = (part: typeof train) => part.filter(({ label }) => label === 'one').length
  expect([train, validation, test].map(ones)).toEqual([14, 2, 4])
  expect(new Set([...train, ...validation, ...test].map(({ text }) => text)).size).toBe(60)
})
