/** Continues the checksum `previous` of earlier bytes, 0 for none, over `bytes`. */
export type Crc = (bytes: Uint8Array, previous?: number) => number

/**
 * A 32-bit CRC with reflected bits and inverted start and end, eight bytes per step ("slicing by 8", Kounavis & Berry 2005).
 *
 * @param polynomial With the coefficient of x^31 in bit 0
 */
export function createCrc(polynomial: number): Crc {
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
