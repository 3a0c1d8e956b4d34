import type { Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { checkArguments, PATH, visibleMessage } from '@cudnn-rnn/canonical/rules'
import { READ_WITHOUT_WAITING } from '@cudnn-rnn/checkpoint/files'
import { type ByteSource, checkRange } from './byte_source.js'
import { CheckpointError, corrupt, ioError } from '../errors.js'

/** Systems read and write less than 2 GiB at a time. */
export const LARGEST_TRANSFER = 2 ** 30

/**
 * A file is closed when it was not read for so many milliseconds, and opened again by the next read: a source that is
 * never closed holds no file open.
 */
const IDLE = 100

/**
 * Opens a regular file for reading; undefined when there is none, or a directory.
 *
 * @throws CheckpointError `ERR_CHECKPOINT_IO` for any other reason, and for FIFOs, sockets and devices, which have no size
 * @example
 * ```ts
 * import { writeFile } from 'node:fs/promises'
 * import { openFileSource } from '@cudnn-rnn/rnn/checkpoint'
 *
 * await writeFile('bytes', Uint8Array.of(1, 2, 3, 4))
 * const source = await openFileSource('bytes')
 * console.log(source?.size, await openFileSource('no-such-file')) // 4 undefined
 * await source?.close?.()
 * ```
 */
export async function openFileSource(path: string): Promise<ByteSource | undefined> {
  checkArguments('open file', { path }, { path: PATH })
  let handle: FileHandle | undefined
  try {
    handle = await open(path, READ_WITHOUT_WAITING)
    const stats = await handle.stat()
    if (stats.isFile()) return new FileSource(path, handle, identityOf(stats))
    await handle.close()
    if (stats.isDirectory()) return undefined
  } catch (cause) {
    await handle?.close().catch(() => undefined)
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw ioError('open file', path, cause)
  }
  throw new CheckpointError('ERR_CHECKPOINT_IO', 'Cannot open file as it must be a regular file', { path })
}

/** The same as long as the file is neither replaced nor changed. */
type FileIdentity = Pick<Stats, 'ino' | 'size' | 'mtimeMs'>

class FileSource implements ByteSource {
  readonly name: string
  readonly size: number
  readonly #identity: FileIdentity
  #handle: Promise<FileHandle> | undefined
  #reads = 0
  #idle: NodeJS.Timeout | undefined

  constructor(path: string, handle: FileHandle, identity: FileIdentity) {
    this.name = path
    this.size = identity.size
    this.#identity = identity
    this.#handle = Promise.resolve(handle)
    this.#closeWhenIdle()
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    checkRange(this.name, this.size, offset, length)
    clearTimeout(this.#idle)
    this.#reads++
    try {
      this.#handle ??= this.#open()
      return await readFully(this.name, await this.#handle, offset, length)
    } finally {
      this.#reads--
      this.#closeWhenIdle()
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle)
    const handle = this.#handle
    this.#handle = undefined
    await (await handle?.catch(() => undefined))?.close()
  }

  #closeWhenIdle(): void {
    if (this.#reads > 0) return
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.close().catch(() => undefined), IDLE).unref()
  }

  /** A replaced file is another file: its bytes do not belong to the ones read before. */
  async #open(): Promise<FileHandle> {
    const path = this.name
    const handle = await open(path, READ_WITHOUT_WAITING).catch((cause: NodeJS.ErrnoException) => {
      this.#handle = undefined
      if (cause.code !== 'ENOENT') throw ioError('open file', path, cause)
      throw changed('it was removed since it was opened (open the newest checkpoint)', { path, cause })
    })
    const { ino, size, mtimeMs } = identityOf(await handle.stat())
    const was = this.#identity
    if (ino === was.ino && size === was.size && mtimeMs === was.mtimeMs) return handle
    this.#handle = undefined
    await handle.close()
    throw changed('it was changed since it was opened (open it again)', { path })
  }
}

async function readFully(path: string, handle: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = allocated(path, length)
  for (let done = 0; done < length; ) {
    const wanted = Math.min(length - done, LARGEST_TRANSFER)
    const { bytesRead } = await handle.read(bytes, done, wanted, offset + done).catch((cause: unknown) => {
      throw ioError('read file', path, cause)
    })
    if (bytesRead === 0) throw corrupt('file', 'it became shorter', { path })
    done += bytesRead
  }
  return bytes
}

/** Throws RangeError `ERR_OUT_OF_MEMORY`: a sparse file can have any size. */
function allocated(path: string, length: number): Uint8Array {
  try {
    return new Uint8Array(length)
  } catch (cause) {
    const message = `Cannot read ${length} bytes as they are more than this process can have: ${path}`
    throw Object.assign(new RangeError(visibleMessage(message)), {
      code: 'ERR_OUT_OF_MEMORY',
      requestedBytes: length,
      cause,
    })
  }
}

function identityOf({ ino, size, mtimeMs }: FileIdentity): FileIdentity {
  return { ino, size, mtimeMs }
}

function changed(rule: string, place: { readonly path: string; readonly cause?: unknown }): CheckpointError {
  return new CheckpointError('ERR_CHECKPOINT_REPLACED', `Cannot read file as ${rule}`, place)
}
