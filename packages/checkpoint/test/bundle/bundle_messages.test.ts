import { BinaryReader } from '@bufbuild/protobuf/wire'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  decodeBundleEntry,
  decodeBundleHeader,
  decodeMessage,
  encodeBundleEntry,
  encodeBundleHeader,
  guardedMessage,
  shapeOf,
  sliceOf,
} from '../../src/bundle/bundle_messages.js'

const bytes = (...values: number[]) => Uint8Array.from(values)

/** A field of another message: its tag and length before it. */
const nested = (field: number, ...contents: number[]) => [(field << 3) | 2, contents.length, ...contents]
/** A field with a varint below 128. */
const varint = (field: number, value: number) => [field << 3, value]

/** The field of a message that has this one. */
const inField = (...contents: number[]) => new BinaryReader(bytes(contents.length, ...contents))

const corrupt = coded('ERR_CHECKPOINT_CORRUPT')

describe('BundleHeaderProto', () => {
  it('is the bytes that protobuf defines', () => {
    // num_shards = 2, version { producer = 1 }
    expect(encodeBundleHeader(2)).toEqual(bytes(...varint(1, 2), ...nested(3, ...varint(1, 1))))
  })

  it.each([
    ['nothing', [], { numShards: 0, bigEndian: false, minConsumer: 0 }],
    ['shards', varint(1, 3), { numShards: 3, bigEndian: false, minConsumer: 0 }],
    ['big-endian', varint(2, 1), { numShards: 0, bigEndian: true, minConsumer: 0 }],
    ['little-endian', varint(2, 0), { numShards: 0, bigEndian: false, minConsumer: 0 }],
    ['a version', nested(3, ...varint(1, 1), ...varint(2, 5)), { numShards: 0, bigEndian: false, minConsumer: 5 }],
    [
      'unknown fields, which are passed over',
      [...varint(9, 1), ...nested(10, 1, 2), ...varint(1, 4), ...nested(3, ...nested(3, 7), ...varint(2, 6))],
      { numShards: 4, bigEndian: false, minConsumer: 6 },
    ],
  ])('decodes %s', (_, message, expected) => {
    expect(decodeBundleHeader(bytes(...message))).toEqual(expected)
  })
})

describe('BundleEntryProto', () => {
  const entry = { dtypeId: 1, shape: [2, 3], shard: 1, offset: 4, size: 24, crc: 0x01020304 }

  it('is the bytes that protobuf defines', () => {
    const shape = [...nested(2, ...varint(1, 2)), ...nested(2, ...varint(1, 3))]
    expect(encodeBundleEntry(entry)).toEqual(
      bytes(
        ...varint(1, 1),
        ...nested(2, ...shape),
        ...varint(3, 1),
        ...varint(4, 4),
        ...varint(5, 24),
        // fixed32, little-endian
        (6 << 3) | 5,
        ...[4, 3, 2, 1],
      ),
    )
  })

  it('leaves out zeros, but not the shape of a scalar', () => {
    expect(encodeBundleEntry({ dtypeId: 0, shape: [], shard: 0, offset: 0, size: 0, crc: 0 })).toEqual(bytes(18, 0))
    expect(encodeBundleEntry({ dtypeId: 0, shape: [0], shard: 0, offset: 0, size: 0, crc: 0 })).toEqual(
      bytes(18, 2, 18, 0),
    )
  })

  it.each([
    entry,
    { dtypeId: 2, shape: [], shard: 0, offset: 0, size: 8, crc: 0xffffffff },
    { dtypeId: 1, shape: [0, 7], shard: 0, offset: 2 ** 40 + 1, size: 0, crc: 0 },
    { dtypeId: 23, shape: [300, 1, 128], shard: 99999, offset: Number.MAX_SAFE_INTEGER, size: 2 ** 33, crc: 1 },
  ])('is decoded as it was encoded: %o', (given) => {
    expect(decodeBundleEntry(encodeBundleEntry(given))).toEqual({ ...given, slices: [] })
  })

  it('refuses sizes that are negative or beyond 2^53', () => {
    const minusOne = [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]
    const beyond = [128, 128, 128, 128, 128, 128, 128, 16]
    for (const field of [4, 5]) {
      for (const value of [minusOne, beyond]) {
        expect(() => decodeBundleEntry(bytes(field << 3, ...value))).toThrow(corrupt)
      }
    }
  })

  it('collects the slices of a partitioned tensor', () => {
    const extent = (...fields: number[]) => nested(1, ...fields)
    const message = [
      ...nested(7, ...extent(...varint(1, 4), ...varint(2, 6)), ...extent()),
      ...nested(7, ...extent(...varint(2, 4)), ...extent()),
    ]
    expect(decodeBundleEntry(bytes(...message)).slices).toEqual([
      [{ start: 4, length: 6 }, undefined],
      [{ start: 0, length: 4 }, undefined],
    ])
  })
})

describe('sliceOf', () => {
  it.each([
    ['no dimension', [], []],
    ['a whole dimension with any start', nested(1, ...varint(1, 3)), [undefined]],
    ['a start that is left out', nested(1, ...varint(2, 3)), [{ start: 0, length: 3 }]],
    ['a length of 0', nested(1, ...varint(1, 2), ...varint(2, 0)), [{ start: 2, length: 0 }]],
  ])('decodes %s', (_, message, expected) => {
    expect(sliceOf(inField(...message))).toEqual(expected)
  })
})

describe('shapeOf', () => {
  it.each([
    ['a scalar', [], []],
    ['dimensions and their names', nested(2, ...varint(1, 5), ...nested(2, 110)), [5]],
    ['an empty dimension', [...nested(2), ...nested(2, ...varint(1, 3))], [0, 3]],
    ['a known rank', varint(3, 0), []],
  ])('decodes %s', (_, message, expected) => {
    expect(shapeOf(inField(...message))).toEqual(expected)
  })

  it('refuses an unknown rank, unknown dimensions, and more elements than can be counted', () => {
    const minusOne = [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]
    // 2^48
    const large = [8, 128, 128, 128, 128, 128, 128, 64]
    for (const message of [varint(3, 1), nested(2, ...minusOne), [...nested(2, ...large), ...nested(2, ...large)]]) {
      expect(() => guardedMessage(() => shapeOf(inField(...message)))).toThrow(corrupt)
    }
  })
})

describe('decodeMessage', () => {
  it('refuses bytes that are cut, and passes errors of its readers on', () => {
    for (const message of [[8], [10, 5, 1], [13, 1, 2], [0x80], [15]]) {
      expect(() => decodeMessage(bytes(...message), {})).toThrow(corrupt)
    }
    expect(() => decodeMessage(bytes(), {})).not.toThrow()
    const unknownRank = bytes(...nested(1, ...varint(3, 1)))
    expect(() => decodeMessage(unknownRank, { shape: [1, shapeOf] })).toThrow('no tensor has the shape')
  })
})
