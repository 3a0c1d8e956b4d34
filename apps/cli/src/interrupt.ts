const SIGNALS = ['SIGINT', 'SIGTERM'] as const
/** Ctrl-Break, and the end of the console, which ends the process ten seconds later. Elsewhere nohup has SIGHUP ignored. */
const OF_WINDOWS = ['SIGBREAK', 'SIGHUP'] as const

/**
 * Runs `work` with a signal that fires on Ctrl-C (SIGINT) or SIGTERM, so that it can stop at its next safe point. The second
 * one ends the process as it would have without this: the system does so, also while `work` computes without a pause.
 */
export async function withInterrupt<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  platform: string = process.platform,
): Promise<Result> {
  const controller = new AbortController()
  const signals = platform === 'win32' ? [...SIGNALS, ...OF_WINDOWS] : SIGNALS
  const release = () => {
    for (const signal of signals) process.off(signal, onSignal)
  }
  const onSignal = () => {
    release()
    controller.abort()
  }
  for (const signal of signals) process.on(signal, onSignal)
  try {
    return await work(controller.signal)
  } finally {
    release()
  }
}
