import { createHash } from 'node:crypto'
import { DataError } from '@cudnn-rnn/rnn/train'

/** A short text that follows from the data alone; saved with a run. */
export function dataFingerprint(...parts: readonly (string | ArrayBufferView)[]): string {
  const hash = createHash('sha256')
  for (const part of parts)
    hash.update(typeof part === 'string' ? part : new Uint8Array(part.buffer, part.byteOffset, part.byteLength))
  return hash.digest('hex').slice(0, 16)
}

/**
 * Throws DataError `ERR_DATA_CHANGED` when the data of a resumed run are not those that it was begun with.
 *
 * @param savedPath where these were.
 */
export function checkFingerprint(path: string, saved: string, current: string, savedPath?: string): void {
  if (saved === current) return
  const begun = savedPath === undefined ? 'with' : `with (${savedPath})`
  throw new DataError(
    'ERR_DATA_CHANGED',
    `Cannot go on training as ${path} must hold the data that the run was begun ${begun}: its fingerprint was ${saved}, now it is ${current}. Begin a new run with --overwrite.`,
    { path },
  )
}
