/**
 * Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC'11).
 *
 * It belongs to the contract so that every host executor draws the same dropout masks and every model the same initial
 * weights from one seed: word w of block n is a pure function of (key, n), whatever thread computes it.
 */
export class Philox {
  readonly #key0: number
  readonly #key1: number
  readonly #stream: number
  readonly #words = new Uint32Array(4)
  #block = 0
  #next = 4

  /**
   * @param seed an integer in 0..2^53-1: the key.
   * @param stream an integer in 0..2^32-1: separates uses of one seed.
   */
  constructor(seed: number, stream = 0) {
    this.#key0 = seed >>> 0
    this.#key1 = Math.floor(seed / 2 ** 32) >>> 0
    this.#stream = stream >>> 0
  }

  /** The next 32 random bits. */
  uint32(): number {
    if (this.#next === 4) this.#fill()
    return this.#words[this.#next++]!
  }

  /** Uniform in [0, 1) with 24 bits, exact in float32. */
  uniform(): number {
    return (this.uint32() >>> 8) * 2 ** -24
  }

  /** Standard normal, by Box and Muller's transform. */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()))
    return radius * Math.cos(2 * Math.PI * this.uniform())
  }

  /** Position as a count of 32-bit words drawn, to be given to {@link seek}. */
  get position(): number {
    return this.#block * 4 - (4 - this.#next)
  }

  seek(position: number): void {
    this.#block = Math.floor(position / 4)
    this.#next = 4
    const offset = position % 4
    if (offset === 0) return
    this.#fill()
    this.#next = offset
  }

  #fill(): void {
    const words = this.#words
    let x0 = this.#block >>> 0
    let x1 = Math.floor(this.#block / 2 ** 32) >>> 0
    let x2 = this.#stream
    let x3 = 0
    let key0 = this.#key0
    let key1 = this.#key1
    for (let round = 0; round < 10; round++) {
      const high0 = multiplyHigh(0xd2511f53, x0)
      const low0 = Math.imul(0xd2511f53, x0) >>> 0
      const high1 = multiplyHigh(0xcd9e8d57, x2)
      const low1 = Math.imul(0xcd9e8d57, x2) >>> 0
      x0 = (high1 ^ x1 ^ key0) >>> 0
      x1 = low1
      x2 = (high0 ^ x3 ^ key1) >>> 0
      x3 = low0
      key0 = (key0 + 0x9e3779b9) >>> 0
      key1 = (key1 + 0xbb67ae85) >>> 0
    }
    words[0] = x0
    words[1] = x1
    words[2] = x2
    words[3] = x3
    this.#block++
    this.#next = 0
  }
}

/** The upper 32 bits of the 64-bit product of two unsigned 32-bit integers. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff
  const aHigh = a >>> 16
  const bLow = b & 0xffff
  const bHigh = b >>> 16
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16)
  const carry = aLow * bHigh + (middle & 0xffff)
  return (aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(carry / 65536)) >>> 0
}
