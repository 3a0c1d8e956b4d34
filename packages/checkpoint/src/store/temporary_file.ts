import { type FileHandle, lstat, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LARGEST_TRANSFER } from './file_source.js'
import { createOwnerToken, ownerState, parseOwnerToken } from './process_identity.js'

/**
 * Milliseconds without a write after which a file is abandoned, if its owner's state is unknown: on another host, or
 * after a reboot.
 */
const LONGEST_SILENCE = 3_600_000

const TEMPORARY = /\.([0-9a-f]{8}-[\d-]+-[0-9a-f]{32})\.tmp$/

/** An unpredictable path beside `path` that names its owner. */
export function temporaryPath(path: string): string {
  return `${path}.${createOwnerToken()}.tmp`
}

/**
 * Creates a file, lets `write` fill it, and flushes it to the disk; a failure leaves no file. An existing one of this name,
 * a symbolic link included, is refused with EEXIST: nothing is written through it.
 */
export async function createFile<Result>(path: string, write: (file: FileHandle) => Promise<Result>): Promise<Result> {
  const file = await open(path, 'wx')
  try {
    const result = await write(file)
    await file.sync()
    await file.close()
    return result
  } catch (error) {
    await file.close().catch(() => undefined)
    await removeQuietly(path)
    throw error
  }
}

export async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    done += (await file.write(bytes, done, Math.min(bytes.length - done, LARGEST_TRANSFER))).bytesWritten
  }
}

/** Removes temporary files whose owners ended, and this thread's that could not be removed when they should. */
export async function removeAbandonedFiles(directory: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const owner = parseOwnerToken(TEMPORARY.exec(name)?.[1] ?? '')
    if (owner === undefined) continue
    const path = join(directory, name)
    const state = notRemoved.has(path) ? 'ended' : ownerState(owner)
    if (state === 'ended' || (state === 'unknown' && (await silence(path)) > LONGEST_SILENCE)) await removeQuietly(path)
  }
}

/**
 * Milliseconds since a file was written to, by the clock of its file system: on a network the clocks of hosts differ.
 * 0 for a file that is not there.
 */
export async function silence(path: string): Promise<number> {
  const probe = temporaryPath(path)
  const stats = await lstat(path).catch(() => undefined)
  if (stats === undefined) return 0
  await (await open(probe, 'wx')).close()
  const now = await lstat(probe).finally(() => rm(probe, { force: true }))
  return now.mtimeMs - stats.mtimeMs
}

/** Removes a file if it can: for cleaning up, if another error may be under way. */
export async function removeQuietly(path: string): Promise<void> {
  try {
    await rm(path, { force: true })
    notRemoved.delete(path)
  } catch {
    if (TEMPORARY.test(path)) notRemoved.add(path)
  }
}

/** Temporary files of this thread that it could not remove. */
const notRemoved = new Set<string>()

/** The names in a directory; none if it is not there. */
export async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}

/** Also an error of Node's permission model, which forbids paths, and flushes altogether. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && ('syscall' in error || ('code' in error && error.code === 'ERR_ACCESS_DENIED'))
}
