import { existsSync, writeFileSync } from 'node:fs'

/** A failure of one rank, for scripts/bench/fault_table.mjs. */
export interface Fault {
  /** 'stop' is SIGSTOP, 'loop' one of JavaScript, 'wait' a promise that nothing settles. */
  readonly kind: 'kill' | 'throw' | 'memory' | 'stop' | 'loop' | 'wait'
  readonly rank: number
  /** It occurs in this batch, counted from the start of the process. */
  readonly batches: number
  /** File to which the time of the fault is written. If it exists, no fault occurs, so that a restarted job completes. */
  readonly file: string
}

/** Fails in the way of `fault.kind`; returns at once if that has happened before. */
export async function makeFault({ kind, file }: Fault): Promise<void> {
  if (existsSync(file)) return
  writeFileSync(file, String(Date.now()))
  if (kind === 'kill') process.kill(process.pid, 'SIGKILL')
  else if (kind === 'stop') process.kill(process.pid, 'SIGSTOP')
  else if (kind === 'throw') throw new Error('the disk is full')
  else if (kind === 'memory') fillHeap()
  // The timer keeps the process.
  else if (kind === 'wait') await new Promise(() => setInterval(() => {}, 1000))
  for (;;);
}

/** V8 ends the process, if its heap has a limit. */
function fillHeap(): never {
  const kept: number[][] = []
  for (;;) kept.push(new Array<number>(10_000).fill(kept.length + 0.5))
}
