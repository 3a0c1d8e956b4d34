/** The least and the greatest of values, of any number: `Math.min(...values)` takes some 100,000. ∞ and -∞ of none. */
export function extent(values: readonly number[]): readonly [least: number, greatest: number] {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    least = Math.min(least, value)
    greatest = Math.max(greatest, value)
  }
  return [least, greatest]
}
