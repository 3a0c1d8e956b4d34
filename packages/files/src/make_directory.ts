import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { flushDirectory } from './flush_directory.js'

/**
 * Makes a directory and those above it, one by one, and flushes their parents. `mkdir` with `recursive` never returns for
 * a path below /proc.
 *
 * @throws the error of the system, also where `path` is something else than a directory
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
