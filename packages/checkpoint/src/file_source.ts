import { type FileHandle, open } from 'node:fs/promises'
import { type ByteSource, checkRange } from './byte_source.js'
import { CheckpointError } from './errors.js'

/** Systems read and write less than 2 GiB at a time. */
export const LARGEST_TRANSFER = 2 ** 30

/** Opens a file for reading; undefined when there is none. Rejects with `ERR_CHECKPOINT_IO` for any other reason. */
export async function openFileSource(path: string): Promise<ByteSource | undefined> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path, 'r')
    const stats = await handle.stat()
    if (!stats.isDirectory()) return fileSource(path, handle, stats.size)
    await handle.close()
    return undefined
  } catch (cause) {
    await handle?.close()
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new CheckpointError('ERR_CHECKPOINT_IO', `Cannot open file (${(cause as Error).message})`, { path, cause })
  }
}

function fileSource(path: string, handle: FileHandle, size: number): ByteSource {
  return {
    name: path,
    size,
    read: async (offset, length) => {
      checkRange(path, size, offset, length)
      const bytes = new Uint8Array(length)
      for (let done = 0; done < length; ) {
        const { bytesRead } = await handle.read(bytes, done, Math.min(length - done, LARGEST_TRANSFER), offset + done)
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
