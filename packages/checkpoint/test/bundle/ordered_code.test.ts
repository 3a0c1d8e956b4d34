import { describe, expect, it } from 'vitest'
import { sliceKey } from '../../src/bundle/ordered_code.js'
import { compareBytes } from '../../src/table/table_reader.js'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** The bytes of one signed number: the bytes of a start, behind the key of a slice with an empty name. */
function signed(value: number): string {
  // 00 (0), 00 01 (the name's end), 01 01 (rank 1), the start, 81 (a length of 1)
  const key = hex(sliceKey('', [{ start: value, length: 1 }]))
  expect(key.startsWith('0000010101')).toBe(true)
  expect(key.endsWith('81')).toBe(true)
  return key.slice(10, -2)
}

describe('sliceKey', () => {
  // From tensorflow/core/lib/strings/ordered_code_test.cc and the description of the format there.
  it.each([
    [0, '80'],
    [1, '81'],
    [63, 'bf'],
    [64, 'c040'],
    [8191, 'dfff'],
    [8192, 'e02000'],
    [2 ** 20 - 1, 'efffff'],
    [2 ** 20, 'f0100000'],
    [-1, '7f'],
    [-64, '40'],
    [-65, '3fbf'],
    [-8192, '2000'],
    [-8193, '1fdfff'],
  ])('writes the number %i as %s', (value, expected) => {
    expect(signed(value)).toBe(expected)
  })

  it('orders keys as the numbers of their slices', () => {
    // Both sides of every change of the length.
    const powers = Array.from({ length: 53 }, (_, bit) => 2 ** bit)
    const positive = powers.flatMap((power) => [power - 1, power, power + 1])
    const numbers = [...new Set([...positive.map((value) => 0 - value), ...positive])].toSorted((a, b) => a - b)
    const keys = numbers.map((start) => sliceKey('w', [{ start, length: 1 }]))
    for (const [k, key] of keys.slice(1).entries()) expect(compareBytes(keys[k] ?? key, key)).toBeLessThan(0)
  })

  it('escapes the bytes that end a name, so that no name is the beginning of another', () => {
    // 00 is written as 00 ff; ff does not occur in UTF-8.
    expect(hex(sliceKey('a\0b', []))).toBe('00' + '6100ff62' + '0001' + '00')
    const names = ['', 'a', 'ab', 'b', '\0', '\0\0', 'a\0', '\0a', 'a\0\0', 'é', 'aé', '\u{1F600}']
    for (const [i, a] of names.entries()) {
      for (const [j, b] of names.entries()) {
        expect(hex(sliceKey(b, [])).startsWith(hex(sliceKey(a, [])))).toBe(i === j)
      }
    }
  })

  it('writes a whole dimension as start 0 and length -1, and the rank before', () => {
    expect(hex(sliceKey('v', []))).toBe('00' + '760001' + '00')
    expect(hex(sliceKey('v', [undefined]))).toBe('00' + '760001' + '0101' + '807f')
    expect(hex(sliceKey('v', [{ start: 2, length: 3 }, undefined]))).toBe('00' + '760001' + '0102' + '8283' + '807f')
    const many = Array.from({ length: 256 }, () => undefined)
    expect(hex(sliceKey('', many)).slice(6, 12)).toBe('020100')
  })
})
