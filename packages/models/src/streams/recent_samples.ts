/** Quantiles of the samples kept. */
export type SampleSummary = {
  readonly mean: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** The last samples of a quantity, in memory of fixed size. */
export class RecentSamples {
  readonly #samples: Float64Array
  #count = 0

  constructor(capacity: number) {
    this.#samples = new Float64Array(capacity)
  }

  add(value: number): void {
    this.#samples[this.#count++ % this.#samples.length] = value
  }

  /** Quantiles by the nearest rank; zeros before the first sample. */
  summary(): SampleSummary {
    const sorted = this.#samples.slice(0, Math.min(this.#count, this.#samples.length)).sort()
    const rank = (quantile: number) => sorted[Math.max(0, Math.ceil(quantile * sorted.length) - 1)] ?? 0
    const sum = sorted.reduce((total, value) => total + value, 0)
    return { mean: sorted.length === 0 ? 0 : sum / sorted.length, p50: rank(0.5), p99: rank(0.99), max: rank(1) }
  }
}
