/** Counts of no file. */
export function noCounts() {
  return { files: 0, outcomes: {}, slowestMilliseconds: 0, peakGrowthBytes: 0, failures: [] }
}

/** The counts of two parts of a run together. */
export function addCounts(one, other) {
  const outcomes = structuredClone(one.outcomes)
  for (const [grammar, codes] of Object.entries(other.outcomes)) {
    outcomes[grammar] ??= {}
    for (const [code, count] of Object.entries(codes)) outcomes[grammar][code] = (outcomes[grammar][code] ?? 0) + count
  }
  return {
    files: one.files + other.files,
    outcomes,
    slowestMilliseconds: Math.max(one.slowestMilliseconds, other.slowestMilliseconds),
    peakGrowthBytes: Math.max(one.peakGrowthBytes, other.peakGrowthBytes),
    failures: [...one.failures, ...other.failures],
  }
}
