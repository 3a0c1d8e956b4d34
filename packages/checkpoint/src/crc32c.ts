import { type Crc32c, loadNativeCrc32c } from './native_crc32c.js'

/**
 * CRC-32C (Castagnoli), reflected polynomial 0x82f63b78, eight bytes per step ("slicing by 8", Kounavis & Berry 2005).
 *
 * `tabledCrc32c(rest, tabledCrc32c(start))` is the checksum of both parts together.
 */
export function tabledCrc32c(bytes: Uint8Array, previous = 0): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES as unknown as Uint32Array[] & { length: 8 }
  let crc = ~previous
  let position = 0
  for (const end = bytes.length - 7; position < end; position += 8) {
    const low = view.getUint32(position, true) ^ crc
    const high = view.getUint32(position + 4, true)
    crc =
      t7![low & 0xff]! ^
      t6![(low >>> 8) & 0xff]! ^
      t5![(low >>> 16) & 0xff]! ^
      t4![low >>> 24]! ^
      t3![high & 0xff]! ^
      t2![(high >>> 8) & 0xff]! ^
      t1![(high >>> 16) & 0xff]! ^
      t0![high >>> 24]!
  }
  for (; position < bytes.length; position++) crc = t0![(crc ^ bytes[position]!) & 0xff]! ^ (crc >>> 8)
  return ~crc >>> 0
}

let chosen: Crc32c | undefined

/**
 * The checksum by the CPU's instruction where that can be had, which is many times faster; else by the tables. The addon is
 * loaded with the first checksum.
 */
export const crc32c: Crc32c = (bytes, previous) => {
  chosen ??= loadNativeCrc32c() ?? tabledCrc32c
  return chosen(bytes, previous)
}

const MASK_DELTA = 0xa282ead8

/** The form in which checkpoints store a checksum: rotated and shifted, so that a checksum of checksums stays sound. */
export function maskCrc(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0
}

/** The checksum of which {@link maskCrc} made `masked`. */
export function unmaskCrc(masked: number): number {
  const rotated = (masked - MASK_DELTA) >>> 0
  return ((rotated >>> 17) | (rotated << 15)) >>> 0
}

/** TABLES[k][b]: the contribution of byte b with k bytes after it. */
const TABLES = makeTables()

function makeTables(): readonly Uint32Array[] {
  const tables = Array.from({ length: 8 }, () => new Uint32Array(256))
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
    tables[0]![byte] = crc
  }
  for (let k = 1; k < 8; k++) {
    for (let byte = 0; byte < 256; byte++) {
      const before = tables[k - 1]![byte]!
      tables[k]![byte] = (before >>> 8) ^ tables[0]![before & 0xff]!
    }
  }
  return tables
}
