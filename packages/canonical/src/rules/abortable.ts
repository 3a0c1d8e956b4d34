import { codedError } from './coded_error.js'
import { inTurn } from './event_loop.js'
import { guarded, reportFailure } from './guarded.js'

/** The used members of an `AbortSignal`. Its type is not named, as not every project has the types of Node.js or the DOM. */
export interface AbortSignalLike {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Milliseconds for work to end after the abort, before it is abandoned; all that is closed then has them together. */
const GRACE = 50
const deadlines = new WeakMap<AbortSignalLike, number>()

/** Milliseconds that are left, of an aborted signal. */
function graceOf(signal: AbortSignalLike): number {
  const now = performance.now()
  const deadline = deadlines.get(signal) ?? now + GRACE
  deadlines.set(signal, deadline)
  return Math.max(0, deadline - now)
}

/**
 * Waits for `work`, and lets other events in; once the signal is aborted, not for long. Work that does not end then is abandoned: its error is ignored.
 *
 * @param late disposes a result of work that was abandoned; its own failure is printed
 * @returns rejects with the reason of the signal if the work is abandoned
 */
export function abortable<Result>(
  signal: AbortSignalLike | undefined,
  work: PromiseLike<Result>,
  late?: (result: Result) => unknown,
): Promise<Result> {
  if (signal === undefined) return inTurn(Promise.resolve(work))
  const result = new Promise<Result>((resolve, reject) => {
    let grace: ReturnType<typeof setTimeout> | undefined
    let isAbandoned = false
    const abandon = () => {
      isAbandoned = true
      reject(signal.reason)
    }
    const onAbort = () => {
      grace = setTimeout(guarded(abandon, reject), graceOf(signal))
    }
    const dispose = guarded((result: Result) => late?.(result), reportFailure)
    const end = () => {
      signal.removeEventListener('abort', onAbort)
      clearTimeout(grace)
    }
    Promise.resolve(work)
      .then(
        (result) => {
          end()
          if (isAbandoned) dispose(result)
          else resolve(result)
        },
        (error: unknown) => {
          end()
          reject(error)
        },
      )
      // The signal is the caller's: its methods may throw.
      .catch(reject)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
  })
  return inTurn(result)
}

/**
 * The elements of `items`, until the signal is aborted: then it throws the reason, wherever `items` waits. The iterator is
 * returned in each case, and the return awaited as {@link abortable} does.
 */
export async function* abortableItems<Item>(
  signal: AbortSignalLike | undefined,
  items: AsyncIterable<Item>,
): AsyncGenerator<Item, void, undefined> {
  const iterator = items[Symbol.asyncIterator]()
  try {
    for (;;) {
      if (signal?.aborted) throw signal.reason
      const { done, value } = await abortable(signal, iterator.next())
      if (done) return
      yield value
    }
  } finally {
    await abandonable(signal, iterator.return?.())
  }
}

/** Milliseconds for something to close. No result depends on it: it is left open, with a line on `console.error`. */
const LONGEST_CLOSE = 10_000

/** Waits for the end of something that is closed, not forever; after an abort the reason counts, and no failure to close. */
export async function abandonable(signal: AbortSignalLike | undefined, end: PromiseLike<unknown> | undefined) {
  if (end === undefined) return
  let limit: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>((resolve) => {
    const leave = () => {
      const message = 'Cannot close a source of data as its return() must end within 10 seconds: it is left open'
      reportFailure(codedError('ERR_DATA_IO', message))
      resolve()
    }
    limit = setTimeout(guarded(leave, reportFailure), LONGEST_CLOSE)
  })
  try {
    await abortable(signal, Promise.race([end, late]))
  } catch (error) {
    if (!signal?.aborted) throw error
  } finally {
    clearTimeout(limit)
  }
}

/** Whether `error` is the reason of the aborted signal. */
export function isAbort(signal: AbortSignalLike | undefined, error: unknown): boolean {
  return signal?.aborted === true && error === signal.reason
}
