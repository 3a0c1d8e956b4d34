import { expect, it } from 'vitest'
import { jsonRecord } from '../../src/rules/index.js'

it.each([
  ['an object', { a: 1 }, true],
  ['a list', [1], false],
  ['null', null, false],
  ['a text', 'a', false],
  ['undefined', undefined, false],
])('jsonRecord of %s', (_, value, isRecord) => {
  expect(jsonRecord(value)).toBe(isRecord ? value : undefined)
})
