import type { VarintReader } from './varint.js'

/**
 * The sorted table of checkpoints, LevelDB's:
 *
 *     file    = data block… metaindex block, index block, footer
 *     block   = entry… restart offset (uint32)… number of restarts (uint32)   then the trailer
 *     entry   = varint shared, varint added, varint value length, added key bytes, value
 *     trailer = type (0 raw, 1 snappy), masked crc32c of the block and the type (uint32)
 *     footer  = handle of the metaindex, handle of the index, zeros up to 40 bytes, magic (uint64)
 *     handle  = varint offset, varint size without the trailer
 *
 * Keys ascend bytewise; an entry shares its first bytes with the key before it, and at restart offsets it shares none.
 * The index has one entry per data block: a key at or after its last, and its handle. All integers are little-endian.
 * Source: tensorflow/core/lib/io/{format,block_builder,table_builder}.cc.
 */
export const FOOTER_SIZE = 48
export const TRAILER_SIZE = 5
export const MAGIC = [0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb]
export const BLOCK_TYPES = { raw: 0, snappy: 1 } as const

/** Place of a block. */
export interface BlockHandle {
  readonly offset: number
  readonly size: number
}

export function decodeHandle(reader: VarintReader): BlockHandle {
  return { offset: reader.next(), size: reader.next() }
}
