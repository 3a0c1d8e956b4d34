import { crc32c, maskCrc } from '@cudnn-rnn/files'

/**
 * Frames one record of a TFRecord file: length (uint64), masked CRC-32C of the length, the bytes, masked CRC-32C of the
 * bytes; all little-endian. Source: tensorflow/core/lib/io/record_writer.h.
 */
export function frameRecord(bytes: Uint8Array): Uint8Array {
  const framed = new Uint8Array(bytes.length + 16)
  const view = new DataView(framed.buffer)
  view.setBigUint64(0, BigInt(bytes.length), true)
  view.setUint32(8, maskCrc(crc32c(framed.subarray(0, 8))), true)
  framed.set(bytes, 12)
  view.setUint32(12 + bytes.length, maskCrc(crc32c(bytes)), true)
  return framed
}
