import { Philox } from '@cudnn-rnn/ops/executor'

/** A seeded stream of choices: the same seed and stream make the same run. */
export class Random {
  readonly #words: Philox

  /** @param stream as of {@link Philox}: the streams of one seed are independent. */
  constructor(seed: number, stream = 0) {
    this.#words = new Philox(seed, stream)
  }

  /** An integer in 0..limit-1. */
  below(limit: number): number {
    return Math.floor((this.#words.uint32() / 2 ** 32) * limit)
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
