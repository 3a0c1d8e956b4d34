import { describeValue } from './described_value.js'

/**
 * A listener whose exception, or rejection, goes to `fail`. No caller can catch an exception of a listener of a socket, a server, a
 * thread, a timer or a garbage collection: the process ends. `scripts/test/listeners.test.mjs` finds listeners without it.
 *
 * @param fail gets the error and the values of the event. It ends the owner of the event, a connection or a thread, and must
 *   not throw; {@link reportFailure} for a function of the caller on which nothing depends.
 */
export function guarded<Values extends readonly unknown[]>(
  listen: (...values: Values) => unknown,
  fail: (error: unknown, ...values: Values) => void,
): (...values: Values) => void {
  return (...values) => {
    try {
      const result = listen(...values)
      if (isThenable(result)) Promise.resolve(result).catch((error: unknown) => fail(error, ...values))
    } catch (error) {
      fail(error, ...values)
    }
  }
}

/** Prints the error of a listener, or of a function of the caller that no call awaits, on `console.error`. Never throws. */
export function reportFailure(error: unknown): void {
  // Not every project has its type.
  const { console } = globalThis as unknown as { readonly console: { error(text: string): void } }
  console.error(textOf(error))
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function'
}

/** The error may have getters that throw again. */
function textOf(error: unknown): string {
  try {
    if (error instanceof Error) return `${error.stack ?? error.message}`
  } catch {}
  return describeValue(error)
}
