import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { decodeName } from '../../src/bundle/tensor_name.js'

it.each(['', 'w', 'größe/ß', '\u{1F600}', '\uFEFFw', 'a\0b'])('decodes %j as it was encoded', (name) => {
  expect(decodeName(new TextEncoder().encode(name))).toBe(name)
})

it.each([
  ['a continuation without a beginning', [0x80]],
  ['a character that is cut', [0x61, 0xe2, 0x82]],
  ['an overlong form', [0xc0, 0xaf]],
  ['a surrogate', [0xed, 0xa0, 0x80]],
  ['a byte that never occurs', [0xff]],
])('refuses %s', (_, bytes) => {
  expect(() => decodeName(Uint8Array.from(bytes))).toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
})
