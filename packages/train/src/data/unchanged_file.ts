import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { DataError } from './data_error.js'

/** The bytes of a file, in pieces. Throws DataError as {@link whileUnchanged}. */
export function readUnchanged(path: string): AsyncGenerator<Uint8Array> {
  return whileUnchanged(path, () => createReadStream(path) as AsyncIterable<Uint8Array>)
}

/**
 * What `read` yields of a file, unless that file is another one at the end than at the start.
 *
 * @throws DataError `ERR_DATA_EMPTY`; `ERR_DATA_CHANGED` when size or time of change differ between start and end
 */
export async function* whileUnchanged<T>(path: string, read: () => AsyncIterable<T>): AsyncGenerator<T> {
  const before = await stat(path)
  if (before.size === 0) {
    throw new DataError('ERR_DATA_EMPTY', `Cannot read ${path} as it must hold data: current size is 0 bytes`, { path })
  }
  yield* read()
  const after = await stat(path)
  if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) {
    throw new DataError(
      'ERR_DATA_CHANGED',
      `Cannot read ${path} as it must not change meanwhile: current size is ${after.size} bytes, it was ${before.size}. Read a copy.`,
      { path },
    )
  }
}
