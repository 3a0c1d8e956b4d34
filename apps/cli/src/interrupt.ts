import { EXIT_CODES } from './exit_codes.js'

/**
 * Runs `work` with a signal that fires on Ctrl-C (SIGINT) or SIGTERM, so that it can stop at its next safe point; a
 * second signal ends the process immediately.
 */
export async function withInterrupt<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController()
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(EXIT_CODES.interrupted)
    controller.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    return await work(controller.signal)
  } finally {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}
