/**
 * A listener whose exception, or rejection, goes to `fail`. Nobody can catch what a listener of a socket, a server, a thread, a
 * timer or a garbage collection throws: the process ends. `scripts/test/listeners.test.mjs` finds listeners without it.
 *
 * @param fail ends what the listener belongs to (a connection, a thread) with the error; it must not throw.
 */
export function guarded<Values extends readonly unknown[]>(
  listen: (...values: Values) => unknown,
  fail: (error: unknown) => void,
): (...values: Values) => void {
  return (...values) => {
    try {
      const result = listen(...values)
      if (result instanceof Promise) result.catch(fail)
    } catch (error) {
      fail(error)
    }
  }
}
