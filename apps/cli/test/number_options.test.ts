import { describe, expect, it } from 'vitest'
import { integerAtLeast, numberAtLeast, numberUpTo } from '../src/number_options.js'

describe('integerAtLeast', () => {
  it('parses integers and refuses fractions, words, empty text and too small values', () => {
    expect(integerAtLeast(1)('12')).toBe(12)
    for (const text of ['0', '-3', '1.5', 'many', '', ' ', 'NaN', '1e99']) {
      expect(() => integerAtLeast(1)(text), text).toThrow('It must be an integer >= 1.')
    }
  })
})

describe('numberAtLeast', () => {
  it('parses finite numbers from its minimum on', () => {
    expect(numberAtLeast(0)('0.5')).toBe(0.5)
    for (const text of ['-0.1', 'Infinity', 'half', '']) {
      expect(() => numberAtLeast(0)(text), text).toThrow('It must be a number >= 0.')
    }
  })
})

describe('numberUpTo', () => {
  it('parses numbers from 0 to its maximum', () => {
    expect(['0', '0.25', '1'].map((text) => numberUpTo(1)(text))).toEqual([0, 0.25, 1])
    for (const text of ['-0.1', '1.01', 'NaN', ' ', 'half']) {
      expect(() => numberUpTo(1)(text), text).toThrow('It must be a number in 0..1.')
    }
  })
})
