/** Times frames of a stream against the time that they last. */
export class FrameClock {
  readonly #frameSeconds: number
  readonly #seconds: number[] = []

  /** @param frameSeconds how long a frame lasts; a model in real time needs less for it. */
  constructor(frameSeconds: number) {
    this.#frameSeconds = frameSeconds
  }

  async time<Result>(work: () => Promise<Result>): Promise<Result> {
    const start = performance.now()
    const result = await work()
    this.#seconds.push((performance.now() - start) / 1000)
    return result
  }

  /** Computing time over the time that the frames last: below 1 is faster than real time. */
  get realTimeFactor(): number {
    return this.#seconds.reduce((sum, seconds) => sum + seconds, 0) / (this.#seconds.length * this.#frameSeconds)
  }

  /** `real-time factor 0.12 (8.3 × faster), latency per frame 0.9 ms median, 1.4 ms at the 99th percentile`. */
  summary(): string {
    if (this.#seconds.length === 0) return 'too short for one frame'
    const sorted = [...this.#seconds].sort((a, b) => a - b)
    const at = (part: number) => (1000 * (sorted[Math.floor(part * (sorted.length - 1))] ?? 0)).toFixed(2)
    const factor = this.realTimeFactor
    const speed = factor < 1 ? `${(1 / factor).toFixed(1)} × faster than real time` : 'slower than real time'
    return `real-time factor ${factor.toFixed(3)} (${speed}), per frame of ${1000 * this.#frameSeconds} ms: ${at(0.5)} ms median, ${at(0.99)} ms at the 99th percentile`
  }
}
