import { rename, rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'

/** Windows' refusals to rename or remove a file that another program has open: a reader, a scanner of viruses, an indexer. */
const HELD = new Set(['EPERM', 'EACCES', 'EBUSY'])
const LONGEST_PAUSE_MS = 16
const PATIENCE_MS = 10_000

/**
 * Renames a file over another, which is replaced. On Windows a rename is tried again for ten seconds while another program
 * has the file open.
 *
 * @param system the call and the platform, for tests
 * @throws the error of the system
 */
export async function replaceFile(
  from: string,
  to: string,
  { rename: call, platform }: System<'rename'> = { rename, platform: process.platform },
): Promise<void> {
  await whileHeld(platform, () => call(from, to))
}

/** Removes a file, if it is there, with the patience of {@link replaceFile}. */
export async function removeFile(
  path: string,
  { rm: call, platform }: System<'rm'> = { rm, platform: process.platform },
): Promise<void> {
  await whileHeld(platform, () => call(path, { force: true }))
}

type System<Name extends 'rename' | 'rm'> = Pick<typeof import('node:fs/promises'), Name> & {
  readonly platform: string
}

async function whileHeld(platform: string, call: () => Promise<void>): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  for (let longest = 1; ; longest = Math.min(2 * longest, LONGEST_PAUSE_MS)) {
    try {
      return await call()
    } catch (error) {
      const isHeld = platform === 'win32' && HELD.has((error as NodeJS.ErrnoException).code ?? '')
      if (!isHeld || performance.now() > end) throw error
      // A random length: a reader that opens the file in a rhythm would else be met again and again.
      await pause(longest * Math.random())
    }
  }
}
