import { describe, expect, it } from 'vitest'
import { mebibytes, percent, threeDigits } from '../src/number_format.js'

describe('threeDigits', () => {
  it.each([
    [0.1824, '0.182'],
    [12.345, '12.3'],
    [141.2, '141'],
    [1412, '1412'],
    [0, '0'],
  ])('writes %d as %s', (value, text) => {
    expect(threeDigits(value)).toBe(text)
  })
})

describe('percent', () => {
  it('rounds to whole percents', () => {
    expect(percent(0.416)).toBe('42 %')
  })
})

describe('mebibytes', () => {
  it('rounds to whole MiB and shows unknown sizes as –', () => {
    expect([mebibytes(3 * 2 ** 20), mebibytes(null)]).toEqual(['3 MiB', '–'])
  })
})
