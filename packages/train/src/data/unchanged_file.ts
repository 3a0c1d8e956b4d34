import { createReadStream, type Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { DataError, isSystemError, unreadable } from './data_error.js'

/** The bytes of a file, in pieces. Throws DataError as {@link whileUnchanged}. */
export function readUnchanged(path: string): AsyncGenerator<Uint8Array> {
  return whileUnchanged(path, () => createReadStream(path) as AsyncIterable<Uint8Array>)
}

/** Characters of a line, or of a row of CSV, at most: a file without line ends would be collected whole. */
export const LONGEST_LINE = 2 ** 26

/**
 * The text of a UTF-8 file, or of UTF-16 as Excel writes it, in pieces. Throws DataError as {@link whileUnchanged};
 * `ERR_DATA_SYNTAX` for other bytes, for NUL characters and for a line of more than 67,108,864 characters.
 */
export async function* readText(path: string): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined
  let row = 1
  /** Characters of the last line so far. */
  let length = 0
  const refused = (rule: string, cause?: unknown) =>
    new DataError('ERR_DATA_SYNTAX', `Cannot read ${path} as ${rule}`, { path, row }, { cause })
  const decode = (bytes?: Uint8Array) => {
    decoder ??= new TextDecoder(bytes?.[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8', { fatal: true })
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
    } catch (cause) {
      throw refused(`it must be UTF-8: the bytes near row ${row} are not`, cause)
    }
  }
  for await (const bytes of readUnchanged(path)) {
    const text = decode(bytes)
    // UTF-16 without its mark and most binary files are valid UTF-8 with NUL characters.
    if (text.includes('\0')) throw refused(`it must be UTF-8 text: there are NUL characters near row ${row}`)
    row += text.split('\n').length - 1
    const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'))
    length = end < 0 ? length + text.length : text.length - 1 - end
    if (length > LONGEST_LINE) throw refused(`a line must have at most ${LONGEST_LINE} characters: row ${row} has more`)
    yield text
  }
  yield decode()
}

/**
 * The elements that `read` yields from a file; fails if the file changes between start and end.
 *
 * @throws DataError `ERR_DATA_EMPTY`; `ERR_DATA_IO` if the system refuses to read; `ERR_DATA_CHANGED` when size or time of change differ between start and end
 */
export async function* whileUnchanged<T>(path: string, read: () => AsyncIterable<T>): AsyncGenerator<T> {
  const before = await statsOf(path)
  if (before.size === 0) {
    throw new DataError('ERR_DATA_EMPTY', `Cannot read ${path} as it must hold data: current size is 0 bytes`, { path })
  }
  try {
    yield* read()
  } catch (error) {
    throw isSystemError(error) ? unreadable(path, error) : error
  }
  const after = await statsOf(path)
  if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) {
    throw new DataError(
      'ERR_DATA_CHANGED',
      `Cannot read ${path} as it must not change meanwhile: current size is ${after.size} bytes, it was ${before.size}. Read a copy.`,
      { path },
    )
  }
}

/** Size and time of a regular file. Throws DataError `ERR_DATA_IO`. */
export async function statsOf(path: string): Promise<Pick<Stats, 'size' | 'mtimeMs'>> {
  const stats = await stat(path).catch((cause: unknown) => {
    throw unreadable(path, cause)
  })
  checkIsFile(path, stats)
  return stats
}

/** Throws DataError `ERR_DATA_IO` for a directory, a device or a pipe. */
export function checkIsFile(path: string, stats: Stats): void {
  if (stats.isFile()) return
  throw unreadable(path, stats.isDirectory() ? 'it is a directory' : 'it is not a regular file')
}
