import { crc32 as zlibCrc32 } from 'node:zlib'
import { expect, it } from 'vitest'
import { crc32, maskCrc, unmaskCrc } from '../../src/files/index.js'

it('crc32 is that of ISO 3309', () => {
  expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926)
})

it('crc32 equals that of zlib at every length and split', () => {
  const bytes = Uint8Array.from({ length: 40 }, (_, index) => (index * 37) & 0xff)
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(crc32(bytes.subarray(0, cut))).toBe(zlibCrc32(bytes.subarray(0, cut)))
    expect(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut)))).toBe(zlibCrc32(bytes))
  }
})

it('unmaskCrc is the inverse of maskCrc, which changes every checksum', () => {
  for (const crc of [0, 1, 0x80000000, 0xffffffff, 0xe3069283]) {
    expect(unmaskCrc(maskCrc(crc))).toBe(crc)
    expect(maskCrc(crc)).not.toBe(crc)
  }
})
