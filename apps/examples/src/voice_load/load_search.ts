import type { LoadWindow } from './load_client.js'

/** A load is held if its slow answers take no longer than this. */
export const LIMIT_MS = 20

export interface SearchResult {
  /** The largest load that was held; undefined if not even the first was. */
  readonly held: LoadWindow | undefined
  readonly windows: readonly LoadWindow[]
}

/** Whether a server holds a load: 99 % of all frames are answered in time, and none of its clients is lost. */
export function isHeld({ p99Ms, sent, answered, lost }: LoadWindow): boolean {
  return p99Ms <= LIMIT_MS && answered >= 0.99 * sent && lost === 0
}

/** Factor between loads while all are held. */
const GROWTH = 4
/** The search ends if the largest load held and the smallest one missed differ by less than this factor. */
const PRECISION = 1.1

/**
 * The largest number of streams that is held: times {@link GROWTH} until one is not, then the geometric mean of both ends,
 * until they are within {@link PRECISION} or the time is over. A load that misses is measured twice: one pause of the machine
 * is not the server's.
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
  for (let next = Math.min(first, most); !isOver(); ) {
    let window = await measure(next)
    windows.push(window)
    if (!isHeld(window) && !isOver()) {
      window = await measure(next)
      windows.push(window)
    }
    if (isHeld(window)) {
      held = window
      low = next
    } else {
      high = next
    }
    if (low >= most || high - low <= 1 || high <= PRECISION * low) break
    next =
      high === Number.POSITIVE_INFINITY ? Math.min(most, GROWTH * low) : Math.round(Math.sqrt(Math.max(1, low) * high))
    if (next === low || next === high) break
  }
  return { held, windows }
}
