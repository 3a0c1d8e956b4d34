import { rename } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'

/** Windows' refusals of a rename over a file that another program has open: a reader, a scanner of viruses, an indexer. */
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
  system: { readonly rename: typeof rename; readonly platform: string } = { rename, platform: process.platform },
): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  for (let longest = 1; ; longest = Math.min(2 * longest, LONGEST_PAUSE_MS)) {
    try {
      return await system.rename(from, to)
    } catch (error) {
      const isHeld = system.platform === 'win32' && HELD.has((error as NodeJS.ErrnoException).code ?? '')
      if (!isHeld || performance.now() > end) throw error
      // A random length: a reader that opens the file in a rhythm would else be met again and again.
      await pause(longest * Math.random())
    }
  }
}
