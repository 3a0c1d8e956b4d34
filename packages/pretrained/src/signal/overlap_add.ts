/** Blocks of N samples of a signal that arrives in pieces of S: each block is the last N samples. */
export class SlidingBlock {
  readonly #block: Float32Array

  constructor(size: number) {
    this.#block = new Float32Array(size)
  }

  /** The block after the next samples, which is written again by the next call. */
  push(samples: Float32Array): Float32Array {
    this.#block.copyWithin(0, samples.length)
    this.#block.set(samples, this.#block.length - samples.length)
    return this.#block
  }
}

/** The sum of blocks of N samples that begin S samples apart. */
export class OverlapAdd {
  readonly #shift: number
  readonly #sum: Float32Array

  constructor(size: number, shift: number) {
    this.#shift = shift
    this.#sum = new Float32Array(size)
  }

  /** Adds a block [N] and returns the S samples that no later block reaches. */
  push(block: Float32Array): Float32Array {
    const sum = this.#sum
    for (let n = 0; n < block.length; n++) sum[n] += block[n]
    const done = sum.slice(0, this.#shift)
    sum.copyWithin(0, this.#shift)
    sum.fill(0, sum.length - this.#shift)
    return done
  }
}
