import { guarded, reportFailure } from './guarded.js'

/** The used members of an `AbortSignal`. Its type is not named, as not every project has the types of Node.js or the DOM. */
export interface AbortSignalLike {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Milliseconds for work to end after the abort, before it is abandoned. */
const GRACE = 50

/**
 * Waits for `work`; once the signal is aborted, not for long. Work that does not end then is abandoned: its error is ignored.
 *
 * @param late disposes a result of work that was abandoned; its own failure is printed
 * @returns rejects with the reason of the signal where the work is abandoned
 */
export function abortable<Result>(
  signal: AbortSignalLike | undefined,
  work: PromiseLike<Result>,
  late?: (result: Result) => unknown,
): Promise<Result> {
  if (signal === undefined) return Promise.resolve(work)
  return new Promise((resolve, reject) => {
    let grace: ReturnType<typeof setTimeout> | undefined
    let isAbandoned = false
    const abandon = () => {
      isAbandoned = true
      reject(signal.reason)
    }
    const onAbort = () => {
      grace = setTimeout(guarded(abandon, reject), GRACE)
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
      // Of a signal that is the caller's.
      .catch(reject)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
  })
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

/** Waits for the end of something that is closed; after an abort the reason counts, and no failure to close. */
export async function abandonable(signal: AbortSignalLike | undefined, end: PromiseLike<unknown> | undefined) {
  if (end === undefined) return
  try {
    await abortable(signal, end)
  } catch (error) {
    if (!signal?.aborted) throw error
  }
}

/** Whether `error` is the reason of the aborted signal. */
export function isAbort(signal: AbortSignalLike | undefined, error: unknown): boolean {
  return signal?.aborted === true && error === signal.reason
}
