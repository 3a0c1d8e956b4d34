import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { corrupt } from '../errors.js'
import { ByteWindow } from './byte_window.js'

/**
 * The header of a value: its kind and the position of its payload. Maps and arrays have their items behind the header;
 * everything else its bytes. Source: github.com/msgpack/msgpack/blob/master/spec.md.
 */
export type MsgpackHeader =
  | { readonly kind: 'map'; readonly start: number; readonly count: number }
  | { readonly kind: 'array'; readonly start: number; readonly count: number }
  | { readonly kind: 'text' | 'binary' | 'other'; readonly start: number; readonly end: number }
  | { readonly kind: 'integer'; readonly start: number; readonly end: number; readonly value: number }
  | { readonly kind: 'extension'; readonly start: number; readonly end: number; readonly type: number }

const LONGEST_HEADER = 9
/** Keys and names of types are short. */
const LONGEST_TEXT = 65_536

/** Bytes of the values that consist of a first byte and these: nil, booleans, floats. */
const FIXED: Readonly<Record<number, number>> = { 192: 0, 194: 0, 195: 0, 202: 4, 203: 8 }

/** Values whose length, of so many bytes, follows the first byte. */
const COUNTED = {
  196: ['binary', 1],
  197: ['binary', 2],
  198: ['binary', 4],
  199: ['extension', 1],
  200: ['extension', 2],
  201: ['extension', 4],
  217: ['text', 1],
  218: ['text', 2],
  219: ['text', 4],
  220: ['array', 2],
  221: ['array', 4],
  222: ['map', 2],
  223: ['map', 4],
} as const satisfies Readonly<Record<number, readonly [kind: MsgpackHeader['kind'], bytes: 1 | 2 | 4]>>

/** Reads the structure of a MessagePack file and leaves the bytes of its values where they are. */
export class MsgpackScanner {
  readonly #window: ByteWindow
  readonly #path: string
  readonly #size: number

  constructor(source: ByteSource) {
    this.#window = new ByteWindow(source)
    this.#path = source.name
    this.#size = source.size
  }

  /** The header at `position`. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
  async header(position: number): Promise<MsgpackHeader> {
    const header = this.#headerAt(position, await this.#bytes(position, LONGEST_HEADER))
    const end = 'end' in header ? header.end : header.start
    if (end <= this.#size) return header
    throw corrupt(this.#path, 'it is not a complete MessagePack value')
  }

  /** The text that a header announced. */
  async text({ start, end }: { readonly start: number; readonly end: number }): Promise<string> {
    if (end - start > LONGEST_TEXT) throw corrupt(this.#path, `a name in it has ${end - start} bytes`)
    return new TextDecoder().decode(await this.#bytes(start, end - start))
  }

  /** Up to `length` bytes, fewer at the end of the file. */
  async #bytes(position: number, length: number): Promise<Uint8Array> {
    return this.#window.held(position, length) ?? this.#window.load(position, length)
  }

  #headerAt(position: number, bytes: Uint8Array): MsgpackHeader {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const unsigned = (at: number, length: number) => {
      if (at + length > bytes.length) throw corrupt(this.#path, 'it is not a complete MessagePack value')
      return length === 1 ? view.getUint8(at) : length === 2 ? view.getUint16(at) : view.getUint32(at)
    }
    const first = unsigned(0, 1)
    const start = position + 1
    const integer = (value: number, length: number) => ({ kind: 'integer', start, end: start + length, value }) as const
    if (first <= 0x7f) return integer(first, 0)
    if (first <= 0x8f) return { kind: 'map', start, count: first & 0x0f }
    if (first <= 0x9f) return { kind: 'array', start, count: first & 0x0f }
    if (first <= 0xbf) return { kind: 'text', start, end: start + (first & 0x1f) }
    if (first >= 0xe0) return integer(first - 256, 0)
    if (first >= 0xcc && first <= 0xce) return integer(unsigned(1, 1 << (first - 0xcc)), 1 << (first - 0xcc))
    // Wider and signed integers are not valid array sizes.
    if (first === 0xcf) return integer(unsigned(1, 4) * 2 ** 32 + unsigned(5, 4), 8)
    if (first >= 0xd0 && first <= 0xd3) return { kind: 'other', start, end: start + (1 << (first - 0xd0)) }
    if (first >= 0xd4 && first <= 0xd8) {
      return { kind: 'extension', type: unsigned(1, 1), start: start + 1, end: start + 1 + (1 << (first - 0xd4)) }
    }
    const fixed = FIXED[first]
    if (fixed !== undefined) return { kind: 'other', start, end: start + fixed }
    const counted = COUNTED[first as keyof typeof COUNTED]
    if (counted === undefined) throw corrupt(this.#path, 'it is not a MessagePack value')
    const [kind, lengthBytes] = counted
    const count = unsigned(1, lengthBytes)
    const behind = start + lengthBytes
    if (kind === 'map' || kind === 'array') return { kind, start: behind, count }
    if (kind !== 'extension') return { kind, start: behind, end: behind + count }
    return { kind, type: unsigned(1 + lengthBytes, 1), start: behind + 1, end: behind + 1 + count }
  }
}
