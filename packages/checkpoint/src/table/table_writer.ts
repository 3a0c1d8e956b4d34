import { concatenate, maskCrc } from '@cudnn-rnn/checkpoint/files'
import { crc32c } from '../crc32c.js'
import { BLOCK_TYPES, type BlockHandle, FOOTER_SIZE, MAGIC } from './table_format.js'
import { compareBytes, type TableEntry } from './table_reader.js'
import { pushVarint } from './varint.js'

/** Sizes of TensorFlow's bundle writer; they decide the bytes. */
const BLOCK_SIZE = 262_144
const DATA_RESTART_INTERVAL = 16
const INDEX_RESTART_INTERVAL = 1

/** The bytes of a table of `entries`, whose keys must ascend: the same that TensorFlow writes. */
export function encodeTable(entries: readonly TableEntry[]): Uint8Array {
  const parts: Uint8Array[] = []
  let offset = 0
  const write = (contents: Uint8Array): BlockHandle => {
    const handle = { offset, size: contents.length }
    const block = withTrailer(contents)
    parts.push(block)
    offset += block.length
    return handle
  }

  const index = new BlockBuilder(INDEX_RESTART_INTERVAL)
  let block = new BlockBuilder(DATA_RESTART_INTERVAL)
  let pending: { readonly lastKey: Uint8Array; readonly handle: BlockHandle } | undefined
  for (const { key, value } of entries) {
    if (pending !== undefined) {
      index.add(shortestSeparator(pending.lastKey, key), encodeHandle(pending.handle))
      pending = undefined
    }
    block.add(key, value)
    if (block.estimatedSize < BLOCK_SIZE) continue
    pending = { lastKey: key, handle: write(block.finish()) }
    block = new BlockBuilder(DATA_RESTART_INTERVAL)
  }
  if (!block.empty) pending = { lastKey: block.lastKey, handle: write(block.finish()) }
  const metaindex = write(new BlockBuilder(DATA_RESTART_INTERVAL).finish())
  if (pending !== undefined) index.add(shortSuccessor(pending.lastKey), encodeHandle(pending.handle))
  const indexHandle = write(index.finish())

  const footer = new Uint8Array(FOOTER_SIZE)
  footer.set([...encodeHandle(metaindex), ...encodeHandle(indexHandle)])
  footer.set(MAGIC, FOOTER_SIZE - MAGIC.length)
  parts.push(footer)
  return concatenate(parts)
}

class BlockBuilder {
  readonly #interval: number
  readonly #bytes: number[] = []
  readonly #restarts = [0]
  #sinceRestart = 0
  lastKey = new Uint8Array(0)

  constructor(restartInterval: number) {
    this.#interval = restartInterval
  }

  get empty(): boolean {
    return this.#bytes.length === 0
  }

  get estimatedSize(): number {
    return this.#bytes.length + 4 * this.#restarts.length + 4
  }

  add(key: Uint8Array, value: Uint8Array): void {
    let shared = 0
    if (this.#sinceRestart < this.#interval) {
      const limit = Math.min(key.length, this.lastKey.length)
      while (shared < limit && key[shared] === this.lastKey[shared]) shared++
    } else {
      this.#restarts.push(this.#bytes.length)
      this.#sinceRestart = 0
    }
    for (const length of [shared, key.length - shared, value.length]) pushVarint(this.#bytes, length)
    for (const byte of key.subarray(shared)) this.#bytes.push(byte)
    for (const byte of value) this.#bytes.push(byte)
    this.#sinceRestart++
    this.lastKey = Uint8Array.from(key)
  }

  finish(): Uint8Array {
    const contents = new Uint8Array(this.estimatedSize)
    contents.set(this.#bytes)
    const view = new DataView(contents.buffer, this.#bytes.length)
    for (const [index, restart] of this.#restarts.entries()) view.setUint32(4 * index, restart, true)
    view.setUint32(4 * this.#restarts.length, this.#restarts.length, true)
    return contents
  }
}

function withTrailer(contents: Uint8Array): Uint8Array {
  const block = new Uint8Array(contents.length + 5)
  block.set(contents)
  block[contents.length] = BLOCK_TYPES.raw
  const crc = maskCrc(crc32c(block.subarray(0, contents.length + 1)))
  new DataView(block.buffer).setUint32(contents.length + 1, crc, true)
  return block
}

function encodeHandle({ offset, size }: BlockHandle): Uint8Array {
  const bytes: number[] = []
  pushVarint(bytes, offset)
  pushVarint(bytes, size)
  return Uint8Array.from(bytes)
}

/** A short key in [start, limit): LevelDB's `FindShortestSeparator`. */
function shortestSeparator(start: Uint8Array, limit: Uint8Array): Uint8Array {
  let index = 0
  const shorter = Math.min(start.length, limit.length)
  while (index < shorter && start[index] === limit[index]) index++
  const [byte, bound] = [start[index], limit[index]]
  if (byte === undefined || bound === undefined || byte === 0xff || byte + 1 >= bound) return start
  const separator = start.slice(0, index + 1)
  separator[index] = byte + 1
  return compareBytes(separator, limit) < 0 ? separator : start
}

/** A short key at or after `key`: LevelDB's `FindShortSuccessor`. */
function shortSuccessor(key: Uint8Array): Uint8Array {
  const index = key.findIndex((byte) => byte !== 0xff)
  const byte = key[index]
  if (byte === undefined) return key
  const successor = key.slice(0, index + 1)
  successor[index] = byte + 1
  return successor
}
