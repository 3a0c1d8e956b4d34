import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { isSystemError, unreadable } from './data_error.js'
import { fingerprintOf } from './fingerprint.js'
import { checkIsFile } from './unchanged_file.js'

const BLOCKS = 16
/** At most the numbers of a typed array that `fingerprintOf` reads. */
const BLOCK_BYTES = 4096

/**
 * Size of a file and a fingerprint of its bytes, which equal files share at any path. 16 blocks of 4 KiB are read, at equal
 * distances from the first byte to the last: all bytes of a file of up to 64 KiB, a sample of a longer one. The reads are
 * synchronous, as `Source.describe` is.
 *
 * @throws DataError `ERR_DATA_IO`
 */
export function describeFile(path: string): string {
  try {
    // Before `open`, which waits for the writer of a pipe.
    const stats = statSync(path)
    checkIsFile(path, stats)
    return `file of ${stats.size} bytes ${fingerprintOf(sampleOf(path, stats.size))}`
  } catch (error) {
    throw isSystemError(error) ? unreadable(path, error) : error
  }
}

function sampleOf(path: string, size: number): readonly Uint8Array[] {
  const file = openSync(path, 'r')
  try {
    const distance = Math.max(0, size - BLOCK_BYTES) / (BLOCKS - 1)
    return Array.from({ length: BLOCKS }, (_, index) => readBlock(file, Math.floor(index * distance)))
  } finally {
    closeSync(file)
  }
}

/** Fewer bytes than a block at the end of the file alone. */
function readBlock(file: number, position: number): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES)
  let length = 0
  let read: number
  do {
    read = readSync(file, block, length, BLOCK_BYTES - length, position + length)
    length += read
  } while (read > 0)
  return block.subarray(0, length)
}
