/** Median and quartiles of a sample, in the unit of its values. */
export interface Spread {
  readonly median: number
  /** First and third quartile. */
  readonly q1: number
  readonly q3: number
  readonly samples: number
}

/** Median and quartiles of at least one value, interpolated linearly between order statistics (R's type 7). */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const quantile = (share: number): number => {
    const position = (sorted.length - 1) * share
    const below = Math.floor(position)
    const above = Math.min(below + 1, sorted.length - 1)
    return sorted[below] + (sorted[above] - sorted[below]) * (position - below)
  }
  return { median: quantile(0.5), q1: quantile(0.25), q3: quantile(0.75), samples: sorted.length }
}

/** Geometric mean of positive values; NaN for none. */
export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length)
}
