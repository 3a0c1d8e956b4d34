/**
 * File operations, checksums and number formats that several packages share. Internal: a part of the other packages.
 *
 * @packageDocumentation
 */
export { concatenate } from './concatenate.js'
export { type Crc, crc32, crc32c, maskCrc, unmaskCrc } from './crc.js'
export { bfloat16ToNumber, float16ToNumber, numberToBfloat16, numberToFloat16 } from './half_floats.js'
export { IS_LITTLE_ENDIAN, inProcessorOrder, littleEndianBytes, swappedBytes } from './little_endian.js'
export { flushDirectory, makeDirectory } from './make_directory.js'
export { checkIsRegular, READ_WITHOUT_WAITING, readRegularFile } from './open_regular_file.js'
export {
  double,
  encodeMessage,
  fixed32,
  float,
  int32,
  type Members,
  MessageMembers,
  type MessageRows,
  messageOf,
  readMessage,
  text,
  walkMessage,
} from './protobuf.js'
export { removeFile, replaceFile } from './replace_file.js'
export { writeFileAtomic } from './write_file_atomic.js'
