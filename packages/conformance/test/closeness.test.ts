import { expect, test } from 'vitest'
import { expectAllclose } from '../src/closeness.js'

test('expectAllclose names the worst index', () => {
  expect(() => expectAllclose('h', [1, 2.1, 3], [1, 2, 3], 1e-3)).toThrow(/h\[1\] is 2.1, expected 2/)
})

test('expectAllclose divides by the largest expected magnitude', () => {
  expectAllclose('h', [100.5], [100], 1e-2)
  expect(() => expectAllclose('h', [0.5], [0], 1e-2)).toThrow()
})

test('expectAllclose refuses NaN and another length', () => {
  expect(() => expectAllclose('h', [Number.NaN, 1], [0, 1], 1)).toThrow(/h\[0\]/)
  expect(() => expectAllclose('h', [1], [1, 1], 1)).toThrow()
})
