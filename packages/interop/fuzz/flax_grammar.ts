import type { Random } from '@cudnn-rnn/fuzzing'
import { ByteList } from './byte_list.js'
import { bytesFor, someName, someShape } from './hostile_values.js'

const DTYPES = ['float32', 'float32', 'float64', 'float16', 'bfloat16', 'int32', 'constructor', '__proto__', 'float8']

/** MessagePack as Flax writes it: maps in maps, arrays as extension values, chunked arrays; some headers claim too much. */
export function flaxFile(random: Random): { bytes: Uint8Array; heldBytes: number } {
  const list = new ByteList()
  map(list, random, 0)
  if (random.chance(0.02)) list.bytes(new Uint8Array(random.below(5)))
  const bytes = list.finish()
  return { bytes, heldBytes: bytes.length }
}

function map(list: ByteList, random: Random, depth: number): void {
  const cells = random.chance(0.4)
    ? random.pick([
        ['ii', 'if', 'ig', 'io', 'hi', 'hf', 'hg', 'ho'],
        ['ir', 'iz', 'in', 'hr', 'hz', 'hn'],
        ['i', 'h'],
      ])
    : undefined
  const count = cells?.length ?? random.pick([1, 2, 3, 8])
  header(list, random, 0x80, 0xde, count)
  const units = random.pick([1, 2, 4])
  for (let item = 0; item < count; item++) {
    if (cells === undefined) {
      text(list, random.chance(0.1) ? '__msgpack_chunked_array__' : someName(random))
      value(list, random, depth + 1)
      continue
    }
    text(list, cells[item]!)
    header(list, random, 0x80, 0xde, 1)
    text(list, 'kernel')
    array(list, random, [units, units])
  }
}

function value(list: ByteList, random: Random, depth: number): void {
  const kind = random.below(10)
  if (kind < 4 && depth < 80) map(list, random, depth)
  else if (kind < 7) array(list, random, someShape(random))
  else if (kind < 8 && depth < 80) {
    const count = random.below(4)
    header(list, random, 0x90, 0xdc, count)
    for (let item = 0; item < count; item++) value(list, random, depth + 1)
  } else if (kind < 9) list.u8(random.pick([0xc0, 0xc2, 0xc3, 0x05, 0xff]))
  else chunked(list, random)
}

/** An array in pieces; its parts may be missing or twice there. */
function chunked(list: ByteList, random: Random): void {
  list.u8(0x83)
  text(list, '__msgpack_chunked_array__')
  list.u8(0xc3)
  text(list, 'shape')
  list.u8(0x81)
  text(list, '0')
  list.u8(random.below(8))
  text(list, random.chance(0.9) ? 'chunks' : 'shape')
  list.u8(0x82)
  for (const place of ['0', random.pick(['1', '1', '0', '2'])]) {
    text(list, place)
    array(list, random, [random.below(5)])
  }
}

/** An extension value of type 1: (shape, dtype, elements). */
function array(list: ByteList, random: Random, shape: readonly number[]): void {
  const inner = new ByteList().u8(0x93).u8(0x90 | Math.min(15, shape.length))
  for (const size of shape.slice(0, 15))
    inner.bytes([0xce, (size >>> 24) & 255, (size >>> 16) & 255, (size >>> 8) & 255, size & 255])
  text(inner, random.pick(DTYPES))
  const elements = bytesFor(shape, 4, random)
  inner.bytes([0xc6, 0, 0, elements.length >> 8, elements.length & 255]).bytes(elements)
  const { length } = inner
  const claimed = random.chance(0.98) ? length : random.below(2 ** 31)
  list
    .bytes([0xc9, (claimed >>> 24) & 255, (claimed >>> 16) & 255, (claimed >>> 8) & 255, claimed & 255, 1])
    .bytes(inner.finish())
}

/** The header of a map or list; now and then one that claims four thousand million items. */
function header(list: ByteList, random: Random, short: number, long: number, count: number): void {
  if (random.chance(0.98)) list.u8(short | count)
  else list.bytes([long + 1, 0xff, 0xff, 0xff, 0xff])
}

function text(list: ByteList, value: string): void {
  const bytes = new TextEncoder().encode(value)
  list.bytes([0xda, bytes.length >> 8, bytes.length & 255]).bytes(bytes)
}
