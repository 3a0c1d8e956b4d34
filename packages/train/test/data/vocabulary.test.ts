import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
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
  expect(() => Vocabulary.of('ab').encode('abc')).toThrow(coded('ERR_UNKNOWN_SYMBOL', { symbol: 'c', index: 2 }))
  expect([...new Vocabulary(['?', 'a'], { unknown: '?' }).encode('abc')]).toEqual([1, 0, 0])
  expect(() => new Vocabulary(['a'], { unknown: '?' })).toThrow(expect.objectContaining({ symbol: '?' }))
})

it('Vocabulary decodes with a separator, and leaves ids out of range out', () => {
  const words = new Vocabulary(['call', 'me', 'Ismael'])
  expect(words.decode(words.encode(['call', 'me', 'Ismael']), ' ')).toBe('call me Ismael')
  expect(words.decode([2, 3, -1, 0.5, 0], ',')).toBe('Ismael,call')
  expect(words.decode([])).toBe('')
})

it('Vocabulary of no symbols encodes nothing', () => {
  const none = Vocabulary.of('')
  expect([none.size, none.encode('').length]).toEqual([0, 0])
  expect(() => none.encode('a')).toThrow(coded('ERR_UNKNOWN_SYMBOL', { symbol: 'a', index: 0 }))
})

it('Vocabulary refuses an unknown symbol that it lacks, and symbols of another kind', () => {
  expect(() => new Vocabulary(['a', 'b'], { unknown: 'c' })).toThrow(coded('ERR_UNKNOWN_SYMBOL'))
  expect(() => new Vocabulary(['a'], { other: 'a' } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
  expect(() => new Vocabulary([1, 2] as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  expect(() => Vocabulary.of(3 as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  expect(() => new Vocabulary('ab').encode(undefined as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
})
