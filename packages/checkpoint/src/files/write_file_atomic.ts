import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, open, readlink, rm, stat } from 'node:fs/promises'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { replaceFile } from './replace_file.js'

/**
 * Writes a file atomically: under an unpredictable name beside it, flushed, then renamed. A symbolic link at
 * `path` is replaced, and its target is not touched.
 *
 * @param options.replace whether a file that exists is replaced. Default true.
 * @throws RangeError `ERR_FILE_EXISTS`; `ERR_OUTPUT_FILE` if the system refuses, and for devices, FIFOs, directories and `/dev/stdout`
 */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  { replace = true }: { readonly replace?: boolean } = {},
): Promise<void> {
  const beside = `${path}.${randomUUID()}.tmp`
  try {
    // A rename would put a file in the place of a device.
    const there = await stat(path).catch(() => undefined)
    if (there !== undefined && !there.isFile()) throw new Error('it exists and is not a regular file')
    // A rename would replace /dev/stdout for all processes.
    const target = await readlink(path).catch(() => '')
    if (target.startsWith('/proc/')) throw new Error('it is a link to an open file of the process')
    const file = await open(beside, 'wx')
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    if (replace) await replaceFile(beside, path)
    else await linkOrCopy(beside, path)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (!replace && code === 'EEXIST') {
      throw codedRangeError(
        'ERR_FILE_EXISTS',
        `Cannot write ${path} as it must not exist: it does. Name another file`,
        { path, cause },
      )
    }
    throw codedRangeError('ERR_OUTPUT_FILE', `Cannot write ${path} (${message})`, { path, cause })
  } finally {
    await rm(beside, { force: true }).catch(() => undefined)
  }
}

/** Both fail with EEXIST if `path` exists, a link included; not every file system has hard links. */
async function linkOrCopy(from: string, path: string): Promise<void> {
  try {
    await link(from, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error
    await copyFile(from, path, constants.COPYFILE_EXCL)
    const file = await open(path, 'r+')
    await file.sync().finally(() => file.close())
  }
}
