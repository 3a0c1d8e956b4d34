import { InvalidArgumentError } from 'commander'
import { describe, expect, it } from 'vitest'
import { integerAtLeast, numberAtLeast } from '../src/number_options.js'

describe.each([
  ['numberAtLeast(0.5)', numberAtLeast(0.5), 'It must be a number >= 0.5.'],
  ['integerAtLeast(1)', integerAtLeast(1), 'It must be an integer >= 1.'],
] as const)('%s', (_, parse, message) => {
  it('parses its least value and larger ones', () => {
    expect([parse('1'), parse(' 20 '), parse('1e3')]).toEqual([1, 20, 1000])
  })

  it.each(['', ' ', 'x', '0', '-3', 'NaN', 'Infinity', '1,5', '3 s'])('refuses %j with a usage message', (text) => {
    expect(() => parse(text)).toThrow(new InvalidArgumentError(message))
  })
})

describe('fractions', () => {
  it('are accepted as numbers, not as integers', () => {
    expect(numberAtLeast(0)('0.25')).toBe(0.25)
    for (const text of ['1.5', '9007199254740993']) expect(() => integerAtLeast(0)(text)).toThrow(InvalidArgumentError)
  })
  it('are in a range', () => {
    expect([integerAtLeast(0, 5)('0'), integerAtLeast(0, 5)('5')]).toEqual([0, 5])
    expect(() => integerAtLeast(0, 5)('6')).toThrow(new InvalidArgumentError('It must be an integer in 0..5.'))
  })
})
