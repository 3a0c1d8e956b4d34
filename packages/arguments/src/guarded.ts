/**
 * A listener whose exception, or rejection, goes to `fail`. No caller can catch an exception of a listener of a socket, a server, a
 * thread, a timer or a garbage collection: the process ends. `scripts/test/listeners.test.mjs` finds listeners without it.
 *
 * @param fail gets the error and the values of the event. It ends the owner of the event, a connection or a thread, and must
 *   not throw.
 */
export function guarded<Values extends readonly unknown[]>(
  listen: (...values: Values) => unknown,
  fail: (error: unknown, ...values: Values) => void,
): (...values: Values) => void {
  return (...values) => {
    try {
      const result = listen(...values)
      if (result instanceof Promise) result.catch((error: unknown) => fail(error, ...values))
    } catch (error) {
      fail(error, ...values)
    }
  }
}
