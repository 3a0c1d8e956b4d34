/** Records the speed of implementations and predicts whether a run would take too long. */
export class TimeBudget {
  readonly #limitMs: number
  readonly #flopsPerMs = new Map<string, number>()

  /** @param limitMs longest run that is worth waiting for */
  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  /** Records a run under `key`. */
  note(key: string, flops: number, ms: number): void {
    this.#flopsPerMs.set(key, Math.max(this.#flopsPerMs.get(key) ?? 0, flops / ms))
  }

  /** Why a run of `flops` is too long, judged by the fastest rate seen; undefined if it is not or nothing is known. */
  refusal(key: string, flops: number): string | undefined {
    const rate = this.#flopsPerMs.get(key)
    if (rate === undefined) return undefined
    const expected = flops / rate
    return expected > this.#limitMs
      ? `would take about ${(expected / 1000).toFixed(1)} s a run, more than ${this.#limitMs / 1000} s`
      : undefined
  }
}
