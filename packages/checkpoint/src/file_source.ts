import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { type ByteSource, checkRange } from './byte_source.js'
import { CheckpointError } from './errors.js'

/** Systems read and write less than 2 GiB at a time. */
export const LARGEST_TRANSFER = 2 ** 30

/** Opening a FIFO does not wait for a writer; regular files know no difference. Windows has no such flag. */
const READ_WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/**
 * Opens a regular file for reading; undefined when there is none, or a directory.
 *
 * @throws CheckpointError `ERR_CHECKPOINT_IO` for any other reason, and for FIFOs, sockets and devices, which have no size
 */
export async function openFileSource(path: string): Promise<ByteSource | undefined> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path, READ_WITHOUT_WAITING)
    const stats = await handle.stat()
    if (stats.isFile()) return fileSource(path, handle, stats.size)
    await handle.close()
    if (stats.isDirectory()) return undefined
  } catch (cause) {
    await handle?.close().catch(() => undefined)
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw readError('open', path, cause)
  }
  throw new CheckpointError('ERR_CHECKPOINT_IO', 'Cannot open file as it must be a regular file', { path })
}

function fileSource(path: string, handle: FileHandle, size: number): ByteSource {
  return {
    name: path,
    size,
    read: async (offset, length) => {
      checkRange(path, size, offset, length)
      const bytes = new Uint8Array(length)
      for (let done = 0; done < length; ) {
        const wanted = Math.min(length - done, LARGEST_TRANSFER)
        const { bytesRead } = await handle.read(bytes, done, wanted, offset + done).catch((cause: unknown) => {
          throw readError('read', path, cause)
        })
        if (bytesRead === 0) {
          throw new CheckpointError('ERR_CHECKPOINT_CORRUPT', 'Cannot read file as it became shorter', { path })
        }
        done += bytesRead
      }
      return bytes
    },
    close: () => handle.close(),
  }
}

function readError(action: string, path: string, cause: unknown): CheckpointError {
  return new CheckpointError('ERR_CHECKPOINT_IO', `Cannot ${action} file (${(cause as Error).message})`, {
    path,
    cause,
  })
}
