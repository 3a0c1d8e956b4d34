const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * Runs `work` with a signal that fires on Ctrl-C (SIGINT) or SIGTERM, so that it can stop at its next safe point. The second
 * one ends the process as it would have without this: the system does so, also while `work` computes without a pause.
 */
export async function withInterrupt<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController()
  const release = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
  const onSignal = () => {
    release()
    controller.abort()
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  try {
    return await work(controller.signal)
  } finally {
    release()
  }
}
