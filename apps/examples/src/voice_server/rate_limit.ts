/** A token bucket: `perSecond` units a second, and as many as `burst` at once. */
export class RateLimit {
  readonly #perSecond: number
  readonly #burst: number
  readonly #now: () => number
  #units: number
  #at: number

  /** @param now milliseconds, as `performance.now` */
  constructor(perSecond: number, burst: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#now = now
    this.#units = burst
    this.#at = now()
  }

  /** Takes `units`, or none and returns false. */
  take(units: number): boolean {
    const now = this.#now()
    this.#units = Math.min(this.#burst, this.#units + ((now - this.#at) / 1000) * this.#perSecond)
    this.#at = now
    if (units > this.#units) return false
    this.#units -= units
    return true
  }
}
