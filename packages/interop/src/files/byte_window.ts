import type { ByteSource } from '@cudnn-rnn/checkpoint'

const WINDOW_BYTES = 65_536

/** A file read from front to back in small pieces: only one window of it is held. */
export class ByteWindow {
  readonly source: ByteSource
  #start = 0
  #bytes: Uint8Array = new Uint8Array()

  constructor(source: ByteSource) {
    this.source = source
  }

  /** Up to `length` bytes from `position` on, fewer at the end of the file; undefined if they must be loaded first. */
  held(position: number, length: number): Uint8Array | undefined {
    const begin = position - this.#start
    const end = Math.min(begin + length, this.source.size - this.#start)
    return begin >= 0 && end <= this.#bytes.length ? this.#bytes.subarray(begin, end) : undefined
  }

  /** The same, loaded if it is not held; valid until the next call. */
  async load(position: number, length: number): Promise<Uint8Array> {
    const rest = Math.max(0, this.source.size - position)
    this.#bytes = await this.source.read(position, Math.min(Math.max(length, WINDOW_BYTES), rest))
    this.#start = position
    return this.#bytes.subarray(0, length)
  }
}
