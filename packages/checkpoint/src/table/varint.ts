import { corrupt } from '../errors.js'

/** Reads unsigned varints (LEB128) out of a block of bytes, never past its end. */
export class VarintReader {
  readonly #bytes: Uint8Array
  position: number
  readonly #end: number

  constructor(bytes: Uint8Array, position = 0, end = bytes.length) {
    this.#bytes = bytes
    this.position = position
    this.#end = end
  }

  get done(): boolean {
    return this.position >= this.#end
  }

  /** The next varint, at most 2^53-1. Throws `ERR_CHECKPOINT_CORRUPT` at the end of the bytes or beyond that value. */
  next(): number {
    let value = 0
    let scale = 1
    for (let length = 0; length < 10; length++) {
      const byte = this.position < this.#end ? this.#bytes[this.position++] : undefined
      if (byte === undefined) break
      value += (byte & 0x7f) * scale
      if (value > Number.MAX_SAFE_INTEGER) break
      if (byte < 0x80) return value
      scale *= 128
    }
    throw corrupt('a varint', 'it is cut off or too large')
  }
}

/** Appends `value` (an integer in 0..2^53-1) as a varint. */
export function pushVarint(bytes: number[], value: number): void {
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest % 128) | 0x80)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
}
