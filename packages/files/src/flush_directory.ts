import { type FileHandle, open } from 'node:fs/promises'

/** Makes new and removed names last through a power failure; not every system can flush a directory, nor needs to. */
export async function flushDirectory(path: string): Promise<void> {
  let directory: FileHandle | undefined
  try {
    directory = await open(path, 'r')
    await directory.sync()
  } catch (error) {
    if (!NOT_FLUSHABLE.has((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    await directory?.close()
  }
}

/** Error codes of Windows and some file systems for a flush of a directory. */
const NOT_FLUSHABLE = new Set(['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'EBADF', 'ENOTSUP', 'ENOSYS'])
