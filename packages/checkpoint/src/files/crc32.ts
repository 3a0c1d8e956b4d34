import { createCrc } from './crc.js'

/** CRC-32 of ISO 3309, the checksum of zip archives. */
export const crc32 = /* @__PURE__ */ createCrc(0xedb88320)
