import { type FileHandle, mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a directory and those above it, one by one, and flushes their parents. `mkdir` with `recursive` never returns for
 * a path below /proc.
 *
 * @throws the error of the system, also if `path` is something else than a directory
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await makeOne(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
    await makeDirectory(dirname(path))
    await makeOne(path)
  }
}

/** Another process may have made it meanwhile. */
async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' && (await stat(path)).isDirectory()) return
    throw error
  }
  await flushDirectory(dirname(path))
}

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
