import { describe, expect, it } from 'vitest'
import { Vocabulary } from '../src/vocabulary.js'

describe('Vocabulary', () => {
  it('numbers characters in code point order, whole code points and not halves of them', () => {
    expect(Vocabulary.of('ba🐋a\n').characters).toEqual(['\n', 'a', 'b', '🐋'])
  })

  it('decodes what it encoded', () => {
    const text = 'Thar she blows! 🐋\n“Where away?”'
    const vocabulary = Vocabulary.of(text)
    expect(vocabulary.decode(vocabulary.encode(text))).toBe(text)
  })

  it('refuses a character it does not know, naming it and its place', () => {
    expect(() => Vocabulary.of('ab').encode('abz')).toThrow(
      expect.objectContaining({ code: 'ERR_UNKNOWN_CHARACTER', character: 'z', index: 2 }),
    )
  })
})
