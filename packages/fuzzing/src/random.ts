/** A seeded stream of choices (mulberry32): the same seed makes the same run. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** An integer in 0..limit-1. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }

  chance(probability: number): boolean {
    return this.below(1 << 20) < probability * (1 << 20)
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]
  }

  /** A number as a damaged length, offset or size would be: near `around`, small, or at the edge of a type. */
  number(around: bigint): bigint {
    const near = [around + 1n, around - 1n, around * 2n, around / 2n, around + BigInt(this.below(300))]
    const small = [24, 24, 300].map((limit) => BigInt(this.below(limit)))
    return BigInt.asUintN(64, this.pick([...EDGES, ...near, ...near, ...small, ...small]))
  }
}

const EDGES = [0n, 1n, -1n, 0x7fn, 0x80n, 0xffffn, ...[31n, 32n, 40n, 53n, 62n, 63n].map((bit) => 1n << bit)]
