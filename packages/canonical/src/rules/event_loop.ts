/** Present on some platforms (Node.js, Deno, Bun): runs after the input of this turn of the event loop was delivered. */
interface ImmediateTasks {
  readonly setImmediate?: (task: () => void) => unknown
  readonly clearImmediate?: (handle: unknown) => void
}

/**
 * Runs `task` at the end of this turn of the event loop. Browsers have no `setImmediate`, and delay nested timers by 4 ms: there a
 * message to oneself is a task without that delay.
 *
 * @returns cancels the task
 */
export function atEndOfTurn(task: () => void, platform: ImmediateTasks = globalThis as ImmediateTasks): () => void {
  const { setImmediate, clearImmediate } = platform
  if (setImmediate !== undefined && clearImmediate !== undefined) {
    const handle = setImmediate(task)
    return () => clearImmediate(handle)
  }
  if (typeof MessageChannel === 'undefined') {
    const handle = setTimeout(task)
    return () => clearTimeout(handle)
  }
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => {
    port1.close()
    task()
  }
  port2.postMessage(null)
  return () => port1.close()
}

/** Taken when the module loads: a program's tests may replace the global ones by timers that do not run. */
const { setImmediate, clearImmediate } = globalThis as ImmediateTasks
const PLATFORM = { ...(setImmediate && { setImmediate }), ...(clearImmediate && { clearImmediate }) }

/** Resolves after the timers and events that wait. */
export function nextTurn(platform: ImmediateTasks = PLATFORM): Promise<void> {
  return new Promise((resolve) => void atEndOfTurn(resolve, platform))
}

/** Milliseconds for which calls that never wait, as they compute on this thread, keep out timers and events. */
const LONGEST_TURN = 20
let lastTurn = 0
let coming: Promise<void> | undefined

/** Ends this turn if there was none for long: a loop over awaited calls that settle in their turn would never leave it. */
async function turn(): Promise<void> {
  await nextTurn()
  coming = undefined
  lastTurn = performance.now()
}

/** `work`, whose result comes in another turn of the event loop if there was none for 20 ms. */
export function inTurn<Result>(work: Promise<Result>): Promise<Result> {
  const age = performance.now() - lastTurn
  // The clock that a program's tests replace may have been ahead.
  if (age >= 0 && age < LONGEST_TURN) return work
  coming ??= turn()
  // Together: a failure of the work has a listener at once.
  return Promise.all([work, coming]).then(([result]) => result)
}
