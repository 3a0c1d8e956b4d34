/** Continues the checksum `previous` of earlier bytes, 0 for none, over `bytes`. */
export type Crc = (bytes: Uint8Array, previous?: number) => number

/**
 * A 32-bit CRC with reflected bits and inverted start and end, eight bytes per step ("slicing by 8", Kounavis & Berry 2005).
 *
 * @param polynomial With the coefficient of x^31 in bit 0
 */
function createCrc(polynomial: number): Crc {
  const tables = slicingTables(polynomial)
  /** The contribution of `byte` with `after` bytes behind it. Both indices are in range, so the entry exists. */
  const entry = (after: number, byte: number) => tables[(after << 8) | byte] as number
  return (bytes, previous = 0) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let crc = ~previous
    let position = 0
    for (const end = bytes.length - 7; position < end; position += 8) {
      const low = view.getUint32(position, true) ^ crc
      const high = view.getUint32(position + 4, true)
      crc =
        entry(7, low & 0xff) ^
        entry(6, (low >>> 8) & 0xff) ^
        entry(5, (low >>> 16) & 0xff) ^
        entry(4, low >>> 24) ^
        entry(3, high & 0xff) ^
        entry(2, (high >>> 8) & 0xff) ^
        entry(1, (high >>> 16) & 0xff) ^
        entry(0, high >>> 24)
    }
    for (; position < bytes.length; position++) crc = entry(0, (crc ^ view.getUint8(position)) & 0xff) ^ (crc >>> 8)
    return ~crc >>> 0
  }
}

/** 8 × 256 entries: row k holds the CRC of each byte value followed by k zero bytes. */
function slicingTables(polynomial: number): Uint32Array {
  const tables = new Uint32Array(8 * 256)
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? polynomial : 0)
    tables[byte] = crc
  }
  for (let index = 256; index < tables.length; index++) {
    const shorter = tables[index - 256] as number
    tables[index] = (shorter >>> 8) ^ (tables[shorter & 0xff] as number)
  }
  return tables
}

/** CRC-32 of ISO 3309, the checksum of zip archives. */
export const crc32 = /* @__PURE__ */ createCrc(0xedb88320)

/** CRC-32C (Castagnoli, RFC 3720), the checksum of TensorFlow's tables and records. */
export const crc32c = /* @__PURE__ */ createCrc(0x82f63b78)

const MASK_DELTA = 0xa282ead8

/**
 * The form in which TensorFlow's files store a checksum: rotated and shifted, because the CRC of data that contains its own
 * CRC is weak. Source: tensorflow/core/lib/hash/crc32c.h.
 */
export function maskCrc(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0
}

/** The inverse of {@link maskCrc}. */
export function unmaskCrc(masked: number): number {
  const rotated = (masked - MASK_DELTA) >>> 0
  return ((rotated >>> 17) | (rotated << 15)) >>> 0
}
