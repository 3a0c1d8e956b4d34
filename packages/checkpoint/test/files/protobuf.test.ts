import type { BinaryReader } from '@bufbuild/protobuf/wire'
import { describe, expect, it } from 'vitest'
import {
  double,
  encodeMessage,
  fixed32,
  float,
  int32,
  messageOf,
  readMessage,
  text,
  walkMessage,
} from '../../src/files/protobuf.js'

const INNER = { count: [1, int32], names: [2, text, 'each'] } as const
const ROWS = { id: [1, int32], inner: [3, messageOf(INNER)], others: [4, messageOf(INNER), 'each'] } as const

describe('messages as rows', () => {
  it('are read as they were written, absent members undefined and repeated ones lists', () => {
    const inner = encodeMessage({ 1: 7, 2: ['a', 'b'] })
    const read = readMessage(encodeMessage({ 1: 300, 2: 'unknown', 3: inner, 4: [inner, encodeMessage({})] }), ROWS)
    const expected = { count: 7, names: ['a', 'b'] }
    expect(read).toEqual({ id: 300, inner: expected, others: [expected, { names: [] }] })
    expect(readMessage(new Uint8Array(), ROWS)).toEqual({ others: [] })
  })

  it('take the last of several single fields, and leave out undefined values', () => {
    const short = (reader: BinaryReader) => {
      const value = reader.string()
      return value.length < 3 ? value : undefined
    }
    const bytes = encodeMessage({ 1: ['one', 'a', 'b', 'two'], 2: ['three', 'c'] })
    expect(readMessage(bytes, { single: [1, short], list: [2, short, 'each'] })).toEqual({ single: 'b', list: ['c'] })
  })

  it('add the values of a sum', () => {
    const rows = { total: [1, int32, 'sum'], none: [2, int32, 'sum'] } as const
    expect(readMessage(encodeMessage({ 1: [3, 4] }), rows)).toEqual({ total: 7, none: 0 })
  })

  it('are the bytes that protobuf defines', () => {
    expect([...encodeMessage({ 2: 'x', 1: 150, 3: undefined })]).toEqual([8, 150, 1, 18, 1, 120])
    expect([...encodeMessage({ 1: fixed32(1), 2: float(1), 3: double(1) })]).toEqual([
      ...[13, 1, 0, 0, 0],
      ...[21, 0, 0, 128, 63],
      ...[25, 0, 0, 0, 0, 0, 0, 240, 63],
    ])
  })

  it('must not be cut', () => {
    for (const bytes of [[8], [10, 5, 1], [13, 1, 2], [0x80], [15]]) {
      expect(() => walkMessage(Uint8Array.from(bytes), () => undefined)).toThrow()
    }
  })
})
