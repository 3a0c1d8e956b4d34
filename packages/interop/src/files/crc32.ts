/** CRC-32 of ISO 3309, as zip archives have it: the table of the reflected polynomial. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

/** The checksum of `bytes` after those that have the checksum `previous`. */
export function crc32(bytes: Uint8Array, previous = 0): number {
  let crc = ~previous
  for (let index = 0; index < bytes.length; index++) crc = TABLE[(crc ^ bytes[index]!) & 0xff]! ^ (crc >>> 8)
  return ~crc >>> 0
}
