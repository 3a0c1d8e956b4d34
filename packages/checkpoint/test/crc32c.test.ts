import { crc32c as tabledCrc32c } from '@cudnn-rnn/checkpoint/files'
import { describe, expect, it } from 'vitest'
import { crc32c } from '../src/crc32c.js'

const ascii = (text: string) => new TextEncoder().encode(text)

// Test vectors of RFC 3720, appendix B.4, and of tensorflow/core/lib/hash/crc32c_test.cc.
describe.each([
  ['of this machine', crc32c],
  ['by tables', tabledCrc32c],
])('crc32c %s', (_, crc32c) => {
  it.each([
    [new Uint8Array(32), 0x8a9136aa],
    [new Uint8Array(32).fill(0xff), 0x62a8ab43],
    [Uint8Array.from({ length: 32 }, (_, index) => index), 0x46dd794e],
    [Uint8Array.from({ length: 32 }, (_, index) => 31 - index), 0x113fdb5c],
    [ascii('123456789'), 0xe3069283],
    [new Uint8Array(0), 0],
  ])('is that of the test vectors (%#)', (bytes, expected) => {
    expect(crc32c(bytes)).toBe(expected)
  })

  it('continues from a checksum at any split of the bytes', () => {
    const bytes = Uint8Array.from({ length: 100 }, (_, index) => (index * 37) & 0xff)
    for (let cut = 0; cut <= 100; cut++)
      expect(crc32c(bytes.subarray(cut), crc32c(bytes.subarray(0, cut)))).toBe(crc32c(bytes))
  })
})
