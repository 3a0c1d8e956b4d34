/** Resolves after the timers and events that wait; browsers have no `setImmediate`. */
export function nextTurn(): Promise<void> {
  const { setImmediate = setTimeout } = globalThis as { readonly setImmediate?: (run: () => void) => unknown }
  return new Promise((resolve) => void setImmediate(() => resolve()))
}
