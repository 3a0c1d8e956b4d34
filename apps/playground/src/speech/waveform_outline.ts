/** The lowest and the highest sample of each of up to `columns` equal parts of a recording. */
export interface Outline {
  readonly low: Float32Array
  readonly high: Float32Array
}

export function waveformOutline(samples: Float32Array, columns: number): Outline {
  const count = Math.min(columns, samples.length)
  const low = new Float32Array(count).fill(Number.POSITIVE_INFINITY)
  const high = new Float32Array(count).fill(Number.NEGATIVE_INFINITY)
  for (let n = 0; n < samples.length; n++) {
    const column = Math.floor((n * count) / samples.length)
    const value = samples[n]
    if (value < low[column]) low[column] = value
    if (value > high[column]) high[column] = value
  }
  return { low, high }
}

/** The largest magnitude. */
export function peak(samples: Float32Array): number {
  return samples.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
}
