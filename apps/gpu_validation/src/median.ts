/** The middle one of an odd number of times; of an even number, the greater of the two in the middle. */
export function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1]
}
