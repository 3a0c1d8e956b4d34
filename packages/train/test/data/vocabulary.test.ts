import { expect, it } from 'vitest'
import { Vocabulary } from '../../src/index.js'

it('Vocabulary.of contains the characters of a text, whole code points in their order', () => {
  const vocabulary = Vocabulary.of('b🐋ba￼')
  expect(vocabulary.symbols).toEqual(['a', 'b', '￼', '🐋'])
  expect([...vocabulary.encode('a🐋')]).toEqual([0, 3])
  expect(vocabulary.decode([3, 0, 99])).toBe('🐋a')
})

it('Vocabulary.of sorts words, a prefix before longer words', () => {
  expect(Vocabulary.of(['whale', 'ahab', 'wh', 'whale']).symbols).toEqual(['ahab', 'wh', 'whale'])
})

it('Vocabulary names an unknown symbol, or reads it as the unknown one', () => {
  expect(() => Vocabulary.of('ab').encode('abc')).toThrow(
    expect.objectContaining({ code: 'ERR_UNKNOWN_SYMBOL', symbol: 'c', index: 2 }),
  )
  expect([...new Vocabulary(['?', 'a'], { unknown: '?' }).encode('abc')]).toEqual([1, 0, 0])
  expect(() => new Vocabulary(['a'], { unknown: '?' })).toThrow(expect.objectContaining({ symbol: '?' }))
})
