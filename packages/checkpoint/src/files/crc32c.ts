import { createCrc } from './crc.js'

/** CRC-32C (Castagnoli, RFC 3720), the checksum of TensorFlow's tables and records. */
export const crc32c = /* @__PURE__ */ createCrc(0x82f63b78)
