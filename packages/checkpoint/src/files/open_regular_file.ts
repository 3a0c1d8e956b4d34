import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** Opening a FIFO does not wait for a writer; for regular files it makes no difference. Windows has no such flag. */
export const READ_WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/**
 * The bytes of a file that a user has named. A device may never end and a FIFO may never begin, so both are rejected before
 * anything is read.
 *
 * @throws the error of the system, or of {@link checkIsRegular}
 */
export async function readRegularFile(path: string): Promise<Buffer> {
  let file: FileHandle | undefined
  try {
    file = await open(path, READ_WITHOUT_WAITING)
    await checkIsRegular(file)
    return await file.readFile()
  } finally {
    await file?.close()
  }
}

/** Throws an error as the system's, for directories, FIFOs, sockets and devices. */
export async function checkIsRegular(file: FileHandle): Promise<void> {
  const stats = await file.stat()
  if (stats.isFile()) return
  const [code, message] = stats.isDirectory()
    ? ['EISDIR', 'it is a directory']
    : ['EINVAL', 'it is a pipe, a socket or a device, not a regular file: write its content to one first']
  throw Object.assign(new Error(message), { code, syscall: 'read' })
}
