import { expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { dropoutPositionOf, dropoutStateOf } from '../../../src/executor/arguments/dropout_position.js'

it('dropoutPositionOf is the inverse of dropoutStateOf', () => {
  for (const position of [0, 1, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER]) {
    expect(dropoutPositionOf(dropoutStateOf(position))).toBe(position)
  }
})

it.each([
  ['too few bytes', new Uint8Array(7)],
  ['too many bytes', new Uint8Array(16)],
  ['a fraction', dropoutStateOf(0.5)],
  ['a negative number', dropoutStateOf(-1)],
  ['no number', dropoutStateOf(Number.NaN)],
])('dropoutPositionOf refuses %s', (_, state) => {
  expect(() => dropoutPositionOf(state)).toThrow(coded('ERR_DROPOUT_STATE'))
})
