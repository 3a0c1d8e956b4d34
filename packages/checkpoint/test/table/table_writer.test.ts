import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { memorySource } from '../../src/store/byte_source.js'
import { compareBytes, readTable, type TableEntry } from '../../src/table/table_reader.js'
import { encodeTable } from '../../src/table/table_writer.js'

const bytes = (...values: number[]) => Uint8Array.from(values)
const text = (value: string) => new TextEncoder().encode(value)
const hex = (array: Uint8Array) => Buffer.from(array).toString('hex')

const readBack = (table: Uint8Array) => readTable(memorySource('table', table))
const plain = (entries: readonly TableEntry[]) => entries.map(({ key, value }) => [hex(key), hex(value)])

/** An entry that fills a data block alone. */
const filling = (key: Uint8Array): TableEntry => ({ key, value: new Uint8Array(262_144) })

/** The keys of the index: of a table whose data blocks hold nothing but zeros as values. */
async function indexKeys(table: Uint8Array): Promise<string[]> {
  // The last block before the footer; its handle is the second one in the footer.
  const footer = table.subarray(table.length - 48)
  const numbers: number[] = []
  for (let at = 0; numbers.length < 4; ) {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = footer[at++] ?? 0
      value += (byte & 0x7f) * scale
      if (byte < 0x80) break
    }
    numbers.push(value)
  }
  const [, , offset = 0, size = 0] = numbers
  const block = table.subarray(offset, offset + size)
  const view = new DataView(block.buffer, block.byteOffset)
  const restarts = view.getUint32(size - 4, true)
  // Every entry of the index is a restart, so it shares nothing with the one before.
  return Array.from({ length: restarts }, (_, k) => {
    const start = view.getUint32(size - 4 - 4 * restarts + 4 * k, true)
    expect(block[start]).toBe(0)
    return hex(block.subarray(start + 3, start + 3 + (block[start + 1] ?? 0)))
  })
}

describe('encodeTable', () => {
  it('writes an empty table as two empty blocks and the footer', () => {
    const table = encodeTable([])
    // A block without entries has one restart offset, 0, and its number: 8 bytes, and 5 of the trailer.
    expect(table.length).toBe(2 * 13 + 48)
    expect(hex(table.subarray(0, 9))).toBe('000000000100000000')
    expect(hex(table.subarray(13, 22))).toBe('000000000100000000')
    // Metaindex at 0, index at 13, both of 8 bytes.
    expect([...table.subarray(26, 30)]).toEqual([0, 8, 13, 8])
    expect(hex(table.subarray(-8))).toBe('57fb808b247547db')
  })

  it('stores the beginning that a key shares with the one before once, but for every 16th key', async () => {
    const entries = Array.from({ length: 40 }, (_, k) => ({
      key: text(`key${String(k).padStart(2, '0')}`),
      value: bytes(k),
    }))
    const table = encodeTable(entries)
    // shared, added, length of the value
    expect([...table.subarray(0, 3)]).toEqual([0, 5, 1])
    expect([...table.subarray(9, 12)]).toEqual([4, 1, 1])
    // Entry 10 shares "key" alone; entries 1 to 9 and 11 to 15 share four characters.
    const first = 9 + 9 * 5
    expect([...table.subarray(first, first + 3)]).toEqual([3, 2, 1])
    const restart = first + 6 + 5 * 5
    expect([...table.subarray(restart, restart + 3)]).toEqual([0, 5, 1])
    expect(plain(await readBack(table))).toEqual(plain(entries))
  })

  it.each([
    ['an empty key', [{ key: bytes(), value: bytes(1, 2, 3) }]],
    ['an empty value', [{ key: bytes(7), value: bytes() }]],
    [
      'keys that begin with each other',
      ['', 'a', 'aa', 'aab', 'b'].map((key) => ({ key: text(key), value: text(key) })),
    ],
    ['the last bytes', [0, 1, 254, 255].map((byte) => ({ key: bytes(byte, byte), value: bytes(byte) }))],
    ['a value of two varint bytes', [{ key: bytes(1), value: new Uint8Array(300).fill(9) }]],
  ])('reads back %s', async (_, entries) => {
    expect(plain(await readBack(encodeTable(entries)))).toEqual(plain(entries))
  })

  it('begins a block where the last one has 256 KiB, and indexes it by the shortest key between', async () => {
    const cases: (readonly [first: number[], second: number[], between: number[]])[] = [
      // A byte between.
      [
        [1, 2, 3],
        [1, 9],
        [1, 3],
      ],
      // None between: the first key itself.
      [
        [1, 2, 3],
        [1, 3],
        [1, 2, 3],
      ],
      // The first is a beginning of the second.
      [
        [1, 2],
        [1, 2, 9],
        [1, 2],
      ],
      [[1, 255, 7], [2], [1, 255, 7]],
      [[5], [9], [6]],
    ]
    for (const [first, second, between] of cases) {
      const entries = [filling(bytes(...first)), filling(bytes(...second))]
      const table = encodeTable(entries)
      const [index] = await indexKeys(table)
      expect(index).toBe(hex(bytes(...between)))
      expect((await readBack(table)).map(({ key }) => hex(key))).toEqual(entries.map(({ key }) => hex(key)))
    }
  })

  it('indexes the last block by a short key at or after its last one', async () => {
    for (const [last, after] of [
      [[1, 2, 3], [2]],
      [
        [255, 7, 9],
        [255, 8],
      ],
      [
        [255, 255],
        [255, 255],
      ],
    ] as const) {
      expect(await indexKeys(encodeTable([{ key: bytes(...last), value: bytes() }]))).toEqual([hex(bytes(...after))])
    }
  })
})

describe('readTable', () => {
  const first = { key: text('a'), value: text('first') }
  const second = { key: text('b'), value: text('second') }
  const entries = [first, second]
  const table = encodeTable(entries)

  it('finds every changed bit of a block', async () => {
    const dataBlock = table.indexOf('first'.charCodeAt(0)) // within the contents
    for (const at of [0, dataBlock, 12]) {
      for (const bit of [1, 128]) {
        const damaged = Uint8Array.from(table)
        damaged.set([(damaged[at] ?? 0) ^ bit], at)
        await expect(readBack(damaged)).rejects.toEqual(coded('ERR_CHECKPOINT_CHECKSUM'))
      }
    }
  })

  it('refuses a file that is cut, or without the magic number', async () => {
    for (const length of [0, 47, table.length - 1]) {
      await expect(readBack(table.subarray(0, length))).rejects.toEqual(coded('ERR_CHECKPOINT_CORRUPT'))
    }
    await expect(readBack(table.subarray(1))).rejects.toThrow()
  })

  it('refuses keys that do not ascend, within a block and from one to the next', async () => {
    await expect(readBack(encodeTable([second, first]))).rejects.toEqual(coded('ERR_CHECKPOINT_CORRUPT'))
    await expect(readBack(encodeTable([first, first]))).rejects.toEqual(coded('ERR_CHECKPOINT_CORRUPT'))
    const blocks = encodeTable([filling(bytes(9)), filling(bytes(3))])
    await expect(readBack(blocks)).rejects.toEqual(coded('ERR_CHECKPOINT_CORRUPT'))
  })
})

describe('compareBytes', () => {
  it('orders bytewise, the shorter first where one begins the other', () => {
    const ascending = [[], [0], [0, 0], [0, 255], [1], [127], [128], [255], [255, 0]].map((values) => bytes(...values))
    for (const [i, a] of ascending.entries()) {
      for (const [j, b] of ascending.entries()) expect(Math.sign(compareBytes(a, b))).toBe(Math.sign(i - j))
    }
  })
})
