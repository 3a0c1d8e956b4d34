import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { pushVarint, VarintReader } from '../../src/table/varint.js'

const corrupt = coded('ERR_CHECKPOINT_CORRUPT')
const written = (value: number) => {
  const bytes: number[] = []
  pushVarint(bytes, value)
  return bytes
}
const next = (...bytes: readonly number[]) => new VarintReader(Uint8Array.from(bytes)).next()

describe('pushVarint', () => {
  it.each([
    [0, [0]],
    [1, [1]],
    [127, [0x7f]],
    [128, [0x80, 1]],
    [300, [0xac, 2]],
    [2 ** 32 - 1, [0xff, 0xff, 0xff, 0xff, 0x0f]],
    [2 ** 32, [0x80, 0x80, 0x80, 0x80, 0x10]],
    [Number.MAX_SAFE_INTEGER, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]],
  ])('writes %d', (value, bytes) => {
    expect(written(value)).toEqual(bytes)
    expect(next(...bytes)).toBe(value)
  })

  it('writes every power of two and its neighbors as VarintReader reads them', () => {
    for (let bits = 1; bits <= 52; bits++) {
      for (const value of [2 ** bits - 1, 2 ** bits, 2 ** bits + 1]) expect(next(...written(value))).toBe(value)
    }
  })
})

describe('VarintReader', () => {
  it('reads one varint after another up to its end', () => {
    const reader = new VarintReader(Uint8Array.of(9, 0x80, 1, 5, 9), 1, 4)
    expect([reader.done, reader.next(), reader.position]).toEqual([false, 128, 3])
    expect([reader.next(), reader.done]).toEqual([5, true])
    expect(() => reader.next()).toThrow(corrupt)
  })

  it('reads a value with more bytes than it needs', () => {
    expect(next(0x81, 0x80, 0x00)).toBe(1)
    expect(next(0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00)).toBe(1)
  })

  it.each([
    ['no bytes', []],
    ['a varint without an end', [0x80, 0x80]],
    ['2⁵³', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]],
    ['the largest number of 64 bits', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    ['eleven bytes', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00]],
  ])('refuses %s', (_, bytes) => {
    expect(() => next(...bytes)).toThrow(corrupt)
  })

  it('does not read beyond its end, where bytes are', () => {
    expect(() => new VarintReader(Uint8Array.of(0x80, 1), 0, 1).next()).toThrow(corrupt)
  })
})
