import { compress } from 'snappyjs'
import { describe, expect, it } from 'vitest'
import { uncompressBlock } from '../../src/table/snappy_block.js'

const bytes = (...values: readonly number[]) => Uint8Array.from(values)
const ascii = (text: string) => [...new TextEncoder().encode(text)]

describe('uncompressBlock', () => {
  it.each([
    ['nothing', bytes(0), ''],
    ['a literal', bytes(3, 2 << 2, ...ascii('abc')), 'abc'],
    ['a literal of a length of one byte', bytes(61, 60 << 2, 60, ...ascii('a'.repeat(61))), 'a'.repeat(61)],
    ['a literal of a length of two bytes', bytes(61, 61 << 2, 60, 0, ...ascii('a'.repeat(61))), 'a'.repeat(61)],
    ['a copy with an offset of 11 bits', bytes(7, 2 << 2, ...ascii('abc'), 1, 3), 'abcabca'],
    ['a copy with an offset of 16 bits', bytes(6, 2 << 2, ...ascii('abc'), (2 << 2) | 2, 3, 0), 'abcabc'],
    ['a copy with an offset of 32 bits', bytes(6, 2 << 2, ...ascii('abc'), (2 << 2) | 3, 3, 0, 0, 0), 'abcabc'],
    ['a copy that repeats its own output', bytes(9, 0, ...ascii('a'), (7 << 2) | 2, 1, 0), 'aaaaaaaaa'],
  ])('reads %s', (_, compressed, expected) => {
    expect(new TextDecoder().decode(uncompressBlock(compressed))).toBe(expected)
  })

  it('reads the output of a compressor, at sizes around its own limits', () => {
    for (const size of [1, 59, 60, 61, 255, 256, 257, 65_535, 65_536, 65_537, 100_000]) {
      const contents = Uint8Array.from({ length: size }, (_, index) => (index % 7 === 0 ? index >>> 8 : index % 5))
      expect(uncompressBlock(compress(contents)), `${size} bytes`).toEqual(contents)
    }
  })

  it.each([
    ['no length', bytes()],
    ['a length without an end', bytes(0x80)],
    ['a length of more than 32 bits', bytes(0xff, 0xff, 0xff, 0xff, 0x1f)],
    ['a length of zeros without an end', new Uint8Array(200).fill(0x80)],
    ['a length of six bytes', bytes(0x81, 0x80, 0x80, 0x80, 0x80, 0x00, 0, 0x61)],
    ['more output than its length', bytes(2, 2 << 2, ...ascii('abc'))],
    ['less output than its length', bytes(4, 2 << 2, ...ascii('abc'))],
    ['a length and no elements', bytes(4)],
    ['a literal that is cut', bytes(3, 2 << 2, ...ascii('ab'))],
    ['a literal of 4 GiB', bytes(3, 63 << 2, 0xff, 0xff, 0xff, 0xff, ...ascii('abc'))],
    ['a literal whose length is cut', bytes(3, 61 << 2, 1)],
    ['a copy of offset 0', bytes(7, 2 << 2, ...ascii('abc'), 1, 0)],
    ['a copy before the output', bytes(7, 2 << 2, ...ascii('abc'), 1, 4)],
    ['a copy first', bytes(4, 1, 1)],
    ['a copy with an offset that is negative as int32', bytes(6, 2 << 2, ...ascii('abc'), (2 << 2) | 3, 0, 0, 0, 0x80)],
    ['a copy whose offset is cut', bytes(6, 2 << 2, ...ascii('abc'), (2 << 2) | 2, 3)],
  ])('refuses %s', (_, compressed) => {
    expect(() => uncompressBlock(compressed)).toThrow(RangeError)
  })
})
