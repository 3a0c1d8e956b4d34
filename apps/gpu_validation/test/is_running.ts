import { readFileSync } from 'node:fs'

/** Whether a process has not ended; one that nothing has waited for yet has. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
