import { memorySource } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { ByteList } from '../fuzz/byte_list.js'
import { zipBytes } from '../fuzz/zip_bytes.js'
import { readZipDirectory } from '../src/files/zip_directory.js'

const corrupt = coded('ERR_WEIGHTS_CORRUPT')
const read = (bytes: Uint8Array) => readZipDirectory(memorySource('archive', bytes))
const text = (value: string) => new TextEncoder().encode(value)

const ARCHIVE = zipBytes([
  { name: 'a', bytes: text('first') },
  { name: 'folder/', bytes: new Uint8Array() },
  { name: 'folder/é', bytes: text('second second second'), deflate: true },
])
const END_BYTES = 22

/** The archive with a comment behind its end. */
function commented(comment: Uint8Array): Uint8Array {
  const list = new ByteList().bytes(ARCHIVE.subarray(0, -2)).u16(comment.length)
  return list.bytes(comment).finish()
}

interface Wide {
  readonly name: string
  readonly sizes: readonly [size: number, packed: number, offset: number]
  readonly extra: Uint8Array
}

/** A directory of one entry, whose end may be ZIP64's. */
function directoryOf({ name, sizes: [size, packed, offset], extra }: Wide, isWide = false): Uint8Array {
  const before = new Uint8Array(40)
  const entry = new ByteList().u32(0x02014b50).bytes(new Uint8Array(16)).u32(packed).u32(size)
  entry.u16(name.length).u16(extra.length).bytes(new Uint8Array(10)).u32(offset).bytes(text(name), extra)
  const directory = entry.finish()
  const list = new ByteList().bytes(before, directory)
  const place = list.length
  if (isWide) {
    list.u32(0x06064b50).u64(44).bytes(new Uint8Array(12)).u64(1).u64(1).u64(directory.length).u64(before.length)
    list.u32(0x07064b50).u32(0).u64(place).u32(1)
  }
  list.u32(0x06054b50).u32(0)
  if (isWide) list.u16(0xffff).u16(0xffff).u32(0xffffffff).u32(0xffffffff)
  else list.u16(1).u16(1).u32(directory.length).u32(before.length)
  return list.u16(0).finish()
}

const extra = (id: number, ...numbers: readonly number[]) => {
  const list = new ByteList().u16(id).u16(8 * numbers.length)
  for (const number of numbers) list.u64(number)
  return list.finish()
}

describe('readZipDirectory', () => {
  it('lists the files and leaves the folders out', async () => {
    const places = await read(ARCHIVE)
    expect(places.map(({ name, method, size, isEncrypted }) => [name, method, size, isEncrypted])).toEqual([
      ['a', 0, 5, false],
      ['folder/é', 8, 20, false],
    ])
  })

  it('reads an empty archive', async () => {
    expect(await read(zipBytes([]))).toEqual([])
  })

  it.each([0, 1, 1000, 0xffff])('finds the end before a comment of %d bytes', async (length) => {
    expect(await read(commented(new Uint8Array(length).fill(0x50)))).toHaveLength(2)
  })

  it('takes no end in a comment for that of the archive', async () => {
    // The bytes of an end whose own comment would reach beyond the file.
    const end = new ByteList().u32(0x06054b50).bytes(new Uint8Array(16)).u16(7).finish()
    expect(await read(commented(end))).toHaveLength(2)
  })

  it('marks encrypted files', async () => {
    const [place] = await read(zipBytes([{ name: 'a', bytes: text('x'), claims: { flags: 1 } }]))
    expect(place).toMatchObject({ isEncrypted: true })
  })

  it('reads the numbers of 64 bits that are marked, in their order, behind other extra fields', async () => {
    const wide = 0xffffffff
    const other = extra(0x5455, 1)
    const all = await read(
      directoryOf({ name: 'a', sizes: [wide, wide, wide], extra: joined(other, extra(1, 2 ** 33, 2 ** 34, 2 ** 35)) }),
    )
    expect(all).toMatchObject([{ size: 2 ** 33, packedSize: 2 ** 34, offset: 2 ** 35 }])
    const offsetAlone = await read(directoryOf({ name: 'a', sizes: [1, 2, wide], extra: extra(1, 2 ** 35) }))
    expect(offsetAlone).toMatchObject([{ size: 1, packedSize: 2, offset: 2 ** 35 }])
  })

  it('reads a ZIP64 directory', async () => {
    const places = await read(directoryOf({ name: 'a', sizes: [1, 2, 3], extra: new Uint8Array() }, true))
    expect(places).toMatchObject([{ name: 'a', size: 1, packedSize: 2, offset: 3 }])
  })

  it('refuses numbers that are not exact', async () => {
    const sizes = [0xffffffff, 0xffffffff, 0] as const
    const bytes = directoryOf({ name: 'a', sizes, extra: new Uint8Array([1, 0, 8, 0, ...new Array(8).fill(0xff)]) })
    await expect(read(bytes)).rejects.toThrow(corrupt)
  })

  it('refuses every beginning of an archive', async () => {
    for (let length = 0; length < ARCHIVE.length; length++) {
      await expect(read(ARCHIVE.subarray(0, length)), `${length} bytes`).rejects.toThrow(corrupt)
    }
  })

  it.each([
    ['more files than it has', 10, [9, 0]],
    ['a directory that begins in its end', 16, [0xff, 0xff, 0, 0]],
    ['a directory that is longer than the file', 12, [0xff, 0xff, 0xff, 0x7f]],
    ['a directory that begins at a file', 16, [0, 0, 0, 0]],
  ])('refuses an end that gives %s', async (_, at, values) => {
    const bytes = ARCHIVE.slice()
    bytes.set(values, bytes.length - END_BYTES + at)
    await expect(read(bytes)).rejects.toThrow(corrupt)
  })

  it('refuses a ZIP64 end that is not at the place of its locator', async () => {
    const bytes = directoryOf({ name: 'a', sizes: [1, 2, 3], extra: new Uint8Array() }, true)
    const locatorAt = bytes.length - END_BYTES - 20
    for (const place of [0, bytes.length]) {
      const moved = bytes.slice()
      new DataView(moved.buffer).setBigUint64(locatorAt + 8, BigInt(place), true)
      await expect(read(moved), `${place}`).rejects.toThrow(corrupt)
    }
  })
})

const joined = (...parts: readonly Uint8Array[]) => new ByteList().bytes(...parts).finish()
