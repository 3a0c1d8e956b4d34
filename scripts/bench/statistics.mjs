// Statistics of measurements, for scripts and the measurements of packages; apps/bench has its own in src/statistics.ts.

/** The element at `fraction` of the sorted values, interpolated between neighbors. */
export function quantile(values, fraction) {
  const sorted = values.toSorted((a, b) => a - b)
  const place = fraction * (sorted.length - 1)
  const below = Math.floor(place)
  const next = sorted[Math.min(below + 1, sorted.length - 1)]
  return sorted[below] + (place - below) * (next - sorted[below])
}

/** The median; for an even number of values, the mean of the two in the middle. */
export const median = (values) => quantile(values, 0.5)
