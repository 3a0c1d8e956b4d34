import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codedRangeError } from './coded_error.js'

/**
 * Makes a directory and those above it, one by one: the recursive `mkdir` of Node.js never ends below /proc.
 *
 * @throws RangeError `ERR_OUTPUT_DIRECTORY` naming the path; `cause` is the error of the system
 */
export async function makeOutputDirectory(path: string): Promise<void> {
  try {
    await makeWithParents(path)
  } catch (cause) {
    const message = `Cannot write to ${path} as it must be a directory that can be made (${(cause as Error).message}): name another by --out`
    throw Object.assign(codedRangeError('ERR_OUTPUT_DIRECTORY', message, { path }), { cause })
  }
}

async function makeWithParents(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return
    if (code !== 'ENOENT' || dirname(path) === path) throw error
    await makeWithParents(dirname(path))
    await mkdir(path)
  }
}
