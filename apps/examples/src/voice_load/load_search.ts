import type { LoadWindow } from './load_client.js'

/** A load is held where its slow answers take no longer than this. */
export const LIMIT_MS = 20

export interface SearchResult {
  /** The largest load that was held; undefined where not even the first was. */
  readonly held: LoadWindow | undefined
  readonly windows: readonly LoadWindow[]
}

/** Whether a server holds a load: 99 % of all frames are answered in time, and none of its clients is lost. */
export function isHeld({ p99Ms, sent, answered, lost }: LoadWindow): boolean {
  return p99Ms <= LIMIT_MS && answered >= 0.99 * sent && lost === 0
}

/**
 * The largest number of streams that is held: doubled until it is not, then halved between both, until they differ by a
 * tenth or the time is over.
 */
export async function searchLoad(
  first: number,
  most: number,
  measure: (streams: number) => Promise<LoadWindow>,
  isOver: () => boolean,
): Promise<SearchResult> {
  const windows: LoadWindow[] = []
  let held: LoadWindow | undefined
  let low = 0
  let high = Number.POSITIVE_INFINITY
  for (let next = first; next > 0 && !isOver(); ) {
    const window = await measure(next)
    windows.push(window)
    if (isHeld(window)) {
      held = window
      low = next
    } else {
      high = next
    }
    if (low >= most || high - low <= Math.max(1, 0.1 * low)) break
    next = high === Number.POSITIVE_INFINITY ? Math.min(most, 2 * low) : Math.round((low + high) / 2)
  }
  return { held, windows }
}
