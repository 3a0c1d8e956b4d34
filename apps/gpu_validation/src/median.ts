/**
 * The middle one of an odd number of times; of an even number, the greater of the two in the middle: a time that was measured,
 * and not a better one where a limit is compared with it.
 */
export function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1]
}
