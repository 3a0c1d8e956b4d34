import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { maskCrc } from '@cudnn-rnn/checkpoint/files'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { encodeBundleEntry, encodeBundleHeader } from '../src/bundle/bundle_messages.js'
import { crc32c } from '../src/crc32c.js'
import { memorySource, openCheckpointFrom } from '../src/index.js'
import { sliceKey } from '../src/bundle/ordered_code.js'
import { uncompressBlock } from '../src/table/snappy_block.js'
import type { TableEntry } from '../src/table/table_reader.js'
import { encodeTable } from '../src/table/table_writer.js'

// Files whose checksums are right and whose structure is not: each was once read wrong, or read forever.

const bytesOf = (text: string) => new TextEncoder().encode(text)

const open = (files: Record<string, Uint8Array>) =>
  openCheckpointFrom('model', async (path) => files[path] && memorySource(path, files[path]))

const openBundle = (entries: readonly TableEntry[], data: Uint8Array = new Uint8Array(0)) =>
  open({
    'model.index': encodeTable([{ key: new Uint8Array(0), value: encodeBundleHeader(1) }, ...entries]),
    'model.data-00000-of-00001': data,
  })

function entry(key: Uint8Array, shape: readonly number[], data: Uint8Array, dtypeId = 1): TableEntry {
  const place = { dtypeId, shape, shard: 0, offset: 0, size: data.length, crc: maskCrc(crc32c(data)) }
  return { key, value: encodeBundleEntry(place) }
}

describe('a bundle', () => {
  it('keeps the byte order mark of a name, and refuses names that are not UTF-8 rather than take two for one', async () => {
    const data = new Uint8Array(4)
    const marked = await openBundle(
      [entry(bytesOf('v'), [1], data), entry(bytesOf('\ufeffv'), [0], data.subarray(4))],
      data,
    )
    expect(marked.names()).toEqual(['v', '\ufeffv'])
    await expect(openBundle([entry(Uint8Array.of(0xfe), [1], data)])).rejects.toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
  })

  it('refuses a shape without a size: an unknown rank, or more elements than can be counted', async () => {
    const place = { dtypeId: 1, shard: 0, offset: 0, size: 0, crc: 0 }
    const value = encodeBundleEntry({ ...place, shape: [...new Array(30).fill(2 ** 52), 0] })
    await expect(openBundle([{ key: bytesOf('v'), value }])).rejects.toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
    const unknown = new BinaryWriter()
      .tag(2, WireType.LengthDelimited)
      .bytes(new BinaryWriter().tag(3, WireType.Varint).bool(true).finish())
      .finish()
    await expect(openBundle([{ key: bytesOf('v'), value: unknown }])).rejects.toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
  })

  /** A tensor [count · 2] in slices of two elements, every one of them stored as `stored` specifies. */
  const sliced = (count: number, stored: (key: Uint8Array) => TableEntry, data: Uint8Array) => {
    const extents = Array.from({ length: count }, (_, index) => ({ start: 2 * index, length: 2 }))
    const slices = extents.map(({ start, length }) => {
      const extent = new BinaryWriter()
      if (start > 0) extent.tag(1, WireType.Varint).int64(start)
      extent.tag(2, WireType.Varint).int64(length)
      return new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(extent.finish()).finish()
    })
    const whole = new BinaryWriter().raw(
      encodeBundleEntry({ dtypeId: 1, shape: [2 * count], shard: 0, offset: 0, size: 0, crc: 0 }),
    )
    for (const slice of slices) whole.tag(7, WireType.LengthDelimited).bytes(slice)
    const keyed = extents.map((extent) => stored(sliceKey('v', [extent])))
    return openBundle([...keyed, { key: bytesOf('v'), value: whole.finish() }], data)
  }

  it('refuses slices of another dtype or rank than their tensor', async () => {
    const right = new Uint8Array(8)
    const reader = await sliced(1, (key) => entry(key, [2], right), right)
    expect((await reader.read('v')).shape).toEqual([2])
    const integers = await sliced(1, (key) => entry(key, [2], right, 3), right)
    await expect(integers.read('v')).rejects.toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
    const longer = new Uint8Array(24)
    const matrices = await sliced(1, (key) => entry(key, [2, 3], longer), longer)
    await expect(matrices.read('v')).rejects.toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
  })

  it('requests no more memory than its file has bytes when many slices name the same ones', async () => {
    const data = new Uint8Array(8)
    await expect(sliced(100, (key) => entry(key, [2], data), data)).rejects.toThrow('overlap in data file 0')
  })
})

describe('uncompressBlock', () => {
  it.each([
    ['a literal whose length is negative as a 32-bit number', [8, 63 << 2, 0xfa, 0xff, 0xff, 0xff, 1, 2, 3, 4]],
    ['a copy from before the beginning', [5, 0, 1, 0b1, 9]],
    ['a copy whose offset is negative as a 32-bit number', [5, 0, 1, 0b1111, 0xff, 0xff, 0xff, 0xff]],
    ['less output than it declares', [9, 0, 1]],
    ['more output than it declares', [0, 0, 1]],
    ['a length that never ends', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
  ])('refuses %s', (_, bytes) => {
    expect(() => uncompressBlock(Uint8Array.from(bytes))).toThrow(RangeError)
  })
})

describe('a checkpoint of version 1', () => {
  const message = (field: number, content: Uint8Array) =>
    new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(content).finish()
  const join = (...parts: Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]))
  const varint = (field: number, value: number) => new BinaryWriter().tag(field, WireType.Varint).int64(value).finish()
  const whole = message(1, new Uint8Array(0))
  const meta = (dtypeId: number, size: number, slices: readonly Uint8Array[]) =>
    message(
      1,
      join(
        message(1, bytesOf('v')),
        message(2, message(2, varint(1, size))),
        varint(3, dtypeId),
        ...slices.map((slice) => message(4, slice)),
      ),
    )
  const openV1 = (metas: readonly Uint8Array[], saved: readonly (readonly [slice: Uint8Array, proto: Uint8Array])[]) =>
    open({
      model: encodeTable([
        { key: new Uint8Array(0), value: message(1, join(...metas)) },
        ...saved.map(([slice, proto], index) => ({
          key: Uint8Array.of(index),
          value: message(2, join(message(1, bytesOf('v')), message(2, slice), message(3, proto))),
        })),
      ]),
    })
  const float = new BinaryWriter().tag(5, WireType.Bit32).float(1.5).finish()

  it.each([
    ['int64 from a float', 9, float],
    ['float32 from a string', 1, message(8, Uint8Array.of(1))],
    ['string from a float', 7, float],
    ['int8 from 300', 6, varint(7, 300)],
    ['float32 from values of several types', 1, join(message(5, new Uint8Array(0)), varint(7, 1))],
  ])('never makes %s', async (_, dtypeId, proto) => {
    const read = async () => (await openV1([meta(dtypeId, 1, [whole])], [[whole, proto]])).read('v')
    await expect(read()).rejects.toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
  })

  it('is refused when it holds a tensor or a slice twice, or names a slice twice', async () => {
    const right = await openV1([meta(1, 1, [whole])], [[whole, float]])
    expect(await right.read('v')).toMatchObject({ data: Float32Array.of(1.5), shape: [1] })
    for (const twice of [
      () => openV1([meta(1, 1, [whole]), meta(1, 1, [whole])], [[whole, float]]),
      () =>
        openV1(
          [meta(1, 1, [whole])],
          [
            [whole, float],
            [whole, float],
          ],
        ),
    ]) {
      await expect(twice()).rejects.toThrow(coded('ERR_CHECKPOINT_CORRUPT'))
    }
    const half = message(1, varint(2, 1))
    const named = await openV1([meta(1, 2, [half, half])], [[half, float]])
    await expect(named.read('v')).rejects.toThrow('it names a slice twice')
  })
})
