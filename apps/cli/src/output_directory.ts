import { existsSync } from 'node:fs'
import { makeDirectory } from '@cudnn-rnn/checkpoint/files'
import { codedRangeError } from './coded_error.js'

/**
 * Makes a directory and those above it.
 *
 * @throws RangeError `ERR_OUTPUT_DIRECTORY` naming the path; `cause` is the error of the system
 */
export async function makeOutputDirectory(path: string): Promise<void> {
  try {
    await makeDirectory(path)
  } catch (cause) {
    const message = `Cannot write to ${path} as it must be a directory that can be made (${(cause as Error).message}): name another by --out`
    throw Object.assign(codedRangeError('ERR_OUTPUT_DIRECTORY', message, { path }), { cause })
  }
}

/** The path, or with `-2`, `-3`, … the first one that does not exist: results under a default name replace none. */
export function unusedDirectory(path: string): string {
  for (let count = 1; ; count++) {
    const candidate = count === 1 ? path : `${path}-${count}`
    if (!existsSync(candidate)) return candidate
  }
}
