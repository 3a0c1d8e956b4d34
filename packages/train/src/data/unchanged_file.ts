import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { DataError } from './data_error.js'

/**
 * The bytes of a file, in pieces.
 *
 * @throws DataError `ERR_DATA_EMPTY`; `ERR_DATA_CHANGED` when size or time of change differ between start and end
 */
export async function* readUnchanged(path: string): AsyncGenerator<Uint8Array> {
  const before = await stat(path)
  if (before.size === 0) {
    throw new DataError('ERR_DATA_EMPTY', `Cannot read ${path} as it must hold data: current size is 0 bytes`, { path })
  }
  yield* createReadStream(path) as AsyncIterable<Uint8Array>
  const after = await stat(path)
  if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) {
    throw new DataError(
      'ERR_DATA_CHANGED',
      `Cannot read ${path} as it must not change meanwhile: current size is ${after.size} bytes, it was ${before.size}. Read a copy.`,
      { path },
    )
  }
}
