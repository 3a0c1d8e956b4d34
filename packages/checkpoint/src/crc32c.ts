import { type Crc, crc32c as tabledCrc32c } from '@cudnn-rnn/files'
import { loadNativeCrc32c } from './native_crc32c.js'

let chosen: Crc | undefined

/**
 * CRC-32C by the CPU's instruction where `@node-rs/crc32` has a build for the platform, which is many times faster, else by
 * tables. The addon is loaded with the first checksum.
 */
export const crc32c: Crc = (bytes, previous) => {
  chosen ??= loadNativeCrc32c() ?? tabledCrc32c
  return chosen(bytes, previous)
}
