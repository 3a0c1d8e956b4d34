import { describe, expect, it } from 'vitest'
import { ByteList } from '../fuzz/byte_list.js'
import { Hdf5Guard } from '../src/files/hdf5_guard.js'

const ascii = (text: string) => new TextEncoder().encode(text)

/** A global heap of `size` bytes, with objects of an index and a size. */
function heap(size: number, objects: readonly (readonly [index: number, bytes: number])[]): Uint8Array {
  const list = new ByteList().bytes(ascii('GCOL'), Uint8Array.of(1, 0, 0, 0)).u64(size)
  for (const [index, bytes] of objects) {
    list.u16(index).u16(1).u32(0).u64(bytes)
    // The free space at the end has its header in its size; the others are padded to eight bytes.
    if (index > 0) list.bytes(new Uint8Array(8 * Math.ceil(Math.min(bytes, size) / 8)))
  }
  const bytes = list.finish()
  return Uint8Array.from({ length: size }, (_, at) => bytes[at] ?? 0)
}

/** A node of a B-tree with its right sibling. */
const node = (right: number) => {
  return new ByteList().bytes(ascii('TREE'), new Uint8Array(12)).u64(right).finish()
}

const UNDEFINED_ADDRESS = 0xffffffff

describe('Hdf5Guard of a global heap', () => {
  const allows = (bytes: Uint8Array) => new Hdf5Guard().allows(0, bytes)

  it.each<[string, number, readonly (readonly [number, number])[]]>([
    [
      'of one object and free space',
      4096,
      [
        [1, 5],
        [0, 4096 - 16 - 24],
      ],
    ],
    ['that its objects fill', 64, [[1, 32]]],
    [
      'of an object without bytes',
      48,
      [
        [1, 0],
        [2, 0],
      ],
    ],
    ['of free space alone', 64, [[0, 48]]],
    ['with fewer bytes at the end than a header has', 40, [[1, 0]]],
  ])('allows one %s', (_, size, objects) => {
    expect(allows(heap(size, objects))).toBe(true)
  })

  it.each<[string, number, readonly (readonly [number, number])[]]>([
    ['an object beyond its end', 64, [[1, 33]]],
    ['free space that is shorter than its own header', 64, [[0, 8]]],
    ['free space of no bytes, at which a reader stays forever', 64, [[0, 0]]],
    [
      'free space beyond its end',
      64,
      [
        [1, 8],
        [0, 25],
      ],
    ],
    ['an object of 2⁵³ - 1 bytes', 64, [[1, Number.MAX_SAFE_INTEGER]]],
  ])('refuses one with %s', (_, size, objects) => {
    expect(allows(heap(size, objects))).toBe(false)
  })

  it('checks the part of a heap that the library reads', () => {
    const whole = heap(4096, [
      [1, 64],
      [2, 4096],
    ])
    expect(allows(whole)).toBe(false)
    // The header of the second object is not in it yet.
    expect(allows(whole.subarray(0, 64))).toBe(true)
  })
})

describe('Hdf5Guard of B-trees', () => {
  it('allows siblings that end, read in any order and again', () => {
    const guard = new Hdf5Guard()
    for (const [at, right] of [
      [100, 200],
      [300, UNDEFINED_ADDRESS],
      [200, 300],
      [100, 200],
      [300, UNDEFINED_ADDRESS],
    ]) {
      expect(guard.allows(at!, node(right!))).toBe(true)
    }
  })

  it('refuses a node that is its own sibling', () => {
    expect(new Hdf5Guard().allows(100, node(100))).toBe(false)
  })

  it('refuses the node that closes a cycle', () => {
    const guard = new Hdf5Guard()
    expect(guard.allows(100, node(200))).toBe(true)
    expect(guard.allows(200, node(300))).toBe(true)
    expect(guard.allows(300, node(100))).toBe(false)
  })

  it('refuses a node that leads into a cycle of others', () => {
    const guard = new Hdf5Guard()
    guard.allows(200, node(300))
    guard.allows(300, node(200))
    expect(guard.allows(100, node(200))).toBe(false)
  })

  it('keeps no siblings for another file', () => {
    new Hdf5Guard().allows(100, node(200))
    expect(new Hdf5Guard().allows(200, node(100))).toBe(true)
  })
})

describe('Hdf5Guard of other bytes', () => {
  it.each([
    ['none', new Uint8Array()],
    ['a signature without the rest of its header', ascii('TREE')],
    ['another signature', new ByteList().bytes(ascii('SNOD'), new Uint8Array(28)).finish()],
    ['elements', new Uint8Array(64).fill(0xff)],
  ])('allows %s', (_, bytes) => {
    expect(new Hdf5Guard().allows(0, bytes)).toBe(true)
  })

  it('reads a header at any place of a buffer', () => {
    const bytes = new Uint8Array(3 + 24)
    bytes.set(node(100), 3)
    expect(new Hdf5Guard().allows(100, bytes.subarray(3))).toBe(false)
  })
})
