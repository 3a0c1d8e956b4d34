import { describe, expect, it } from 'vitest'
import { fromBase64, toBase64 } from '../src/base64.js'

describe('toBase64 and fromBase64', () => {
  // RFC 4648, section 10.
  it.each([
    ['', ''],
    ['f', 'Zg=='],
    ['fo', 'Zm8='],
    ['foo', 'Zm9v'],
    ['foobar', 'Zm9vYmFy'],
  ])('%j is %j', (text, encoded) => {
    const bytes = new TextEncoder().encode(text)
    expect(toBase64(bytes)).toBe(encoded)
    expect(fromBase64(encoded)).toEqual(bytes)
  })

  it('keep every byte', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    expect(fromBase64(toBase64(bytes))).toEqual(bytes)
  })

  it.each(['Zg=', 'Z', '%%%%', 'Zg==Zg=='])('fromBase64 refuses %j', (text) => {
    expect(fromBase64(text)).toBeUndefined()
  })
})
