import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** Opening a FIFO does not wait for a writer; for regular files it makes no difference. Windows has no such flag. */
export const READ_WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/**
 * The bytes of a file that a user has named. A device may never end and a FIFO may never begin, so both are rejected before
 * anything is read.
 *
 * @throws the error of the system; Error for directories, FIFOs, sockets and devices
 */
export async function readRegularFile(path: string): Promise<Buffer> {
  let file: FileHandle | undefined
  try {
    file = await open(path, READ_WITHOUT_WAITING)
    const stats = await file.stat()
    if (stats.isFile()) return await file.readFile()
    if (stats.isDirectory()) throw new Error('it is a directory')
    throw new Error('it is a pipe, a socket or a device, not a regular file: write its content to one first')
  } finally {
    await file?.close()
  }
}
