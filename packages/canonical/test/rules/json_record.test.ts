import { expect, it } from 'vitest'
import { jsonObject, jsonRecord } from '../../src/rules/index.js'

it.each([
  ['an object', { a: 1 }, true],
  ['a list', [1], false],
  ['null', null, false],
  ['a text', 'a', false],
  ['undefined', undefined, false],
])('jsonRecord of %s', (_, value, isRecord) => {
  expect(jsonRecord(value)).toBe(isRecord ? value : undefined)
})

it.each<[string | Uint8Array, object | undefined]>([
  ['{"a":{"toString":1}}', { a: { toString: 1 } }],
  [new TextEncoder().encode('{"a":null}'), { a: null }],
  [Uint8Array.of(0x7b, 0xff, 0x7d), undefined],
  ...['', '{', 'null', '[]', '"a"', '1'].map((text): [string, undefined] => [text, undefined]),
])('jsonObject of %o is %o', (text, object) => {
  expect(jsonObject(text)).toEqual(object)
})
