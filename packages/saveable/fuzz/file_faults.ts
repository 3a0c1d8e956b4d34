import { type Call, interceptCalls } from './file_calls.js'

export interface Fault {
  /** Which kind of call counts; by default any of them. */
  readonly call?: Call | undefined
  /** The n-th such call, from 1. */
  readonly n: number
  /** `error`: it fails with EIO. The others: SIGKILL before or after it. */
  readonly kind: 'error' | 'kill-before' | 'kill-after'
}

/**
 * Counts the calls by which this process opens and changes files of one directory, and fails or kills it at a chosen one.
 *
 * @returns puts everything back, and returns whether the fault occurred.
 */
export function injectFault(directory: string, fault: Fault): () => boolean {
  let calls = 0
  const restore = interceptCalls(directory, ({ call }, real) => {
    if ((fault.call !== undefined && fault.call !== call) || ++calls !== fault.n) return real()
    if (fault.kind === 'kill-before') return process.kill(process.pid, 'SIGKILL')
    if (fault.kind === 'kill-after') {
      const result = real()
      if (!(result instanceof Promise)) return process.kill(process.pid, 'SIGKILL')
      return result.finally(() => process.kill(process.pid, 'SIGKILL'))
    }
    // A close that fails still closes the file.
    const closed = call === 'close' ? real() : undefined
    const error = Object.assign(new Error(`EIO: i/o error, ${call}`), { code: 'EIO', errno: -5, syscall: call })
    if (closed instanceof Promise) return closed.then(() => Promise.reject(error))
    throw error
  })
  return () => {
    restore()
    return calls >= fault.n
  }
}
