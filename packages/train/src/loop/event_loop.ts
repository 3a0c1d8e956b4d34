/** Resolves after the timers and events that wait; browsers have no `setImmediate`. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (globalThis.setImmediate === undefined) setTimeout(resolve, 0)
    else setImmediate(resolve)
  })
}
