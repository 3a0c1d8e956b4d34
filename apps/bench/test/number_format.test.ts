import { describe, expect, it } from 'vitest'
import { threeDigits } from '../src/compare_checkouts.js'

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

it.each([
  [9.999, '10.0'],
  [99.96, '100'],
  [0.099_96, '0.100'],
  [9.994, '9.99'],
  [999.6, '1000'],
  [12_345, '12345'],
  [-9.999, '-10.0'],
  [1e-9, '0.000000'],
])('threeDigits of %d rounds before it counts digits', (value, text) => {
  expect(threeDigits(value)).toBe(text)
})
