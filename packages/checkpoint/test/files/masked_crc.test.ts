import { expect, it } from 'vitest'
import { maskCrc, unmaskCrc } from '../../src/files/index.js'

it('unmaskCrc is the inverse of maskCrc, which changes every checksum', () => {
  for (const crc of [0, 1, 0x80000000, 0xffffffff, 0xe3069283]) {
    expect(unmaskCrc(maskCrc(crc))).toBe(crc)
    expect(maskCrc(crc)).not.toBe(crc)
  }
})
