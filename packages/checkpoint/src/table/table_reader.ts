import { maskCrc } from '@cudnn-rnn/checkpoint/files'
import type { ByteSource } from '../store/byte_source.js'
import { crc32c } from '../crc32c.js'
import { corrupt, damaged, unsupported, WRONG_CHECKSUM } from '../errors.js'
import { uncompressBlock } from './snappy_block.js'
import { BLOCK_TYPES, type BlockHandle, decodeHandle, FOOTER_SIZE, MAGIC, TRAILER_SIZE } from './table_format.js'
import { VarintReader } from './varint.js'

export interface TableEntry {
  readonly key: Uint8Array
  readonly value: Uint8Array
}

/**
 * Keys may take this many times the bytes of their block: writers store a whole key at every 16th entry at least, and
 * without a limit every entry of three bytes could repeat a long key.
 */
const KEY_MAXIMUM_RATIO = 32

/**
 * All entries of a table in the order of their keys, every block's checksum verified.
 *
 * @throws CheckpointError `ERR_CHECKPOINT_CORRUPT`, `ERR_CHECKPOINT_CHECKSUM`, `ERR_CHECKPOINT_UNSUPPORTED`
 */
export async function readTable(source: ByteSource): Promise<TableEntry[]> {
  const refusal = (rule: string) => corrupt('table', rule, { path: source.name })
  if (source.size < FOOTER_SIZE) throw refusal(`a footer has ${FOOTER_SIZE} bytes: the file has ${source.size}`)
  const footer = await source.read(source.size - FOOTER_SIZE, FOOTER_SIZE)
  if (!MAGIC.every((byte, index) => footer[FOOTER_SIZE - MAGIC.length + index] === byte)) {
    throw refusal('the magic number at its end is missing')
  }
  const handles = new VarintReader(footer, 0, FOOTER_SIZE - MAGIC.length)
  decodeHandle(handles) // the metaindex, which is empty
  const entries: TableEntry[] = []
  let total = 0
  for (const { value } of decodeBlock(source, await readBlock(source, decodeHandle(handles)))) {
    const handle = decodeHandle(new VarintReader(value))
    // Blocks that overlap could make a small file unfold into a large one.
    total += handle.size
    if (total > source.size) throw refusal('its blocks are larger than the file')
    const block = decodeBlock(source, await readBlock(source, handle))
    const [last, next] = [entries.at(-1), block[0]]
    if (last !== undefined && next !== undefined && compareBytes(last.key, next.key) >= 0)
      throw refusal('its keys do not ascend')
    for (const entry of block) entries.push(entry)
  }
  return entries
}

/** The contents of a block, checked and uncompressed. */
async function readBlock(source: ByteSource, { offset, size }: BlockHandle): Promise<Uint8Array> {
  const bytes = await source.read(offset, size + TRAILER_SIZE)
  const stored = new DataView(bytes.buffer, bytes.byteOffset).getUint32(size + 1, true)
  if (maskCrc(crc32c(bytes.subarray(0, size + 1))) !== stored) {
    throw damaged(`block at offset ${offset}`, WRONG_CHECKSUM, { path: source.name })
  }
  const contents = bytes.subarray(0, size)
  switch (bytes[size]) {
    case BLOCK_TYPES.raw:
      return contents
    case BLOCK_TYPES.snappy:
      return uncompressed(source, contents)
    default:
      throw unsupported('block', `its compression must be none (0) or snappy (1): current value is ${bytes[size]}`, {
        path: source.name,
      })
  }
}

function uncompressed(source: ByteSource, contents: Uint8Array): Uint8Array {
  try {
    return uncompressBlock(contents)
  } catch (cause) {
    const rule = 'its snappy data is damaged (restore an older checkpoint, or copy the file again)'
    throw corrupt('block', rule, { path: source.name, cause })
  }
}

function decodeBlock({ name: path }: ByteSource, block: Uint8Array): TableEntry[] {
  const refusal = (rule: string) => corrupt('block', rule, { path })
  if (block.length < 4) throw refusal('it is too short')
  const restarts = new DataView(block.buffer, block.byteOffset).getUint32(block.length - 4, true)
  const end = block.length - 4 - 4 * restarts
  if (end < 0) throw refusal('it is shorter than its restart offsets')
  const entries: TableEntry[] = []
  const reader = new VarintReader(block, 0, end)
  let previous = new Uint8Array(0)
  let keyBytes = 0
  while (!reader.done) {
    const [shared, added, length] = [reader.next(), reader.next(), reader.next()]
    if (shared > previous.length || reader.position + added + length > end) throw refusal('an entry leaves it')
    keyBytes += shared + added
    if (keyBytes > block.length * KEY_MAXIMUM_RATIO) throw refusal('its keys are larger than any writer stores')
    const key = new Uint8Array(shared + added)
    key.set(previous.subarray(0, shared))
    key.set(block.subarray(reader.position, reader.position + added), shared)
    if (entries.length > 0 && compareBytes(previous, key) >= 0) throw refusal('its keys do not ascend')
    reader.position += added
    entries.push({ key, value: block.subarray(reader.position, reader.position + length) })
    reader.position += length
    previous = key
  }
  return entries
}

/** Bytewise order, shorter first on a tie. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
