/**
 * The middle one of an odd number of values, of an even number the greater of the two in the middle: a value that occurs, as
 * a step between dates must be one. Undefined for none.
 */
export function upperMedian(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b).at(values.length >> 1)
}
