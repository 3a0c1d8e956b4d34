import { describeValue, type FloatArray } from '@cudnn-rnn/canonical'
import { codedTypeError, invalidOption, liveLength } from '@cudnn-rnn/canonical/rules'
import { dtypeOf } from './arguments/dtype_of.js'

/**
 * Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC'11).
 *
 * It belongs to the contract so that every host executor draws the same dropout masks and every model the same initial
 * weights from one seed: word w of block n is a pure function of (key, n), on any thread.
 *
 * @example
 * ```ts
 * import { Philox } from '@cudnn-rnn/rnn/executors'
 *
 * const random = new Philox(1)
 * const first = random.uniform()
 * random.seek(0)
 * console.log(random.uniform() === first, random.position) // true 1
 * ```
 */
export class Philox {
  readonly #key: Uint32Array
  readonly #counter: Uint32Array
  readonly #words = new Uint32Array(4)
  #block = 0
  #next = 4

  /**
   * @param seed an integer in 0..2^53-1: the key.
   * @param stream an integer in 0..2^32-1, the third counter word: separates uses of one seed.
   * @throws RangeError `ERR_INVALID_OPTION`
   */
  constructor(seed: number, stream = 0) {
    checkInteger('seed', seed, Number.MAX_SAFE_INTEGER)
    checkInteger('stream', stream, 0xffffffff)
    this.#key = Uint32Array.of(seed >>> 0, Math.floor(seed / 2 ** 32))
    this.#counter = Uint32Array.of(0, 0, stream, 0)
  }

  /** The next 32 random bits. */
  uint32(): number {
    if (this.#next === 4) this.#fill()
    return this.#words[this.#next++]
  }

  /** Uniform in [0, 1) with 24 bits, exact in float32. */
  uniform(): number {
    return bitsToUniform(this.uint32())
  }

  /**
   * Fills `values` with numbers uniform in [-limit, limit), as `limit * (2 * uniform() - 1)` for each gives them.
   *
   * @throws TypeError `ERR_INVALID_ARGUMENT` unless `values` is a Float32Array or a Float64Array; RangeError
   *   `ERR_INVALID_OPTION` unless `limit` is a finite number
   */
  fillUniform(values: FloatArray, limit: number): void {
    checkFloats(values)
    checkFinite('limit', limit)
    const count = liveLength(values)
    const words = this.#words
    for (let index = 0; index < count; index++) {
      if (this.#next === 4) this.#fill()
      values[index] = limit * (2 * bitsToUniform(words[this.#next++] as number) - 1)
    }
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

  /** Continues at `position`, an integer >= 0. Throws RangeError `ERR_INVALID_OPTION`. */
  seek(position: number): void {
    checkInteger('position', position, Number.MAX_SAFE_INTEGER)
    this.#block = Math.floor(position / 4)
    this.#next = 4
    const offset = position % 4
    if (offset === 0) return
    this.#fill()
    this.#next = offset
  }

  #fill(): void {
    this.#counter[0] = this.#block >>> 0
    this.#counter[1] = Math.floor(this.#block / 2 ** 32)
    philoxBlock(this.#counter, this.#key, this.#words)
    this.#block++
    this.#next = 0
  }
}

const bitsToUniform = (word: number): number => (word >>> 8) * 2 ** -24

/**
 * The pure function beneath {@link Philox}: one block of 128 random bits, Philox4x32-10.
 *
 * @param counter [4] 32-bit words, lowest first.
 * @param key [2] 32-bit words, lowest first.
 * @param words [4], overwritten with the block.
 */
export function philoxBlock(counter: Uint32Array, key: Uint32Array, words: Uint32Array): Uint32Array {
  // By index: destructuring would run an iterator for every block.
  let x0 = counter[0] as number
  let x1 = counter[1] as number
  let x2 = counter[2] as number
  let x3 = counter[3] as number
  let key0 = key[0] as number
  let key1 = key[1] as number
  for (let round = 0; round < 10; round++) {
    const high0 = multiplyHigh(0xd251, 0x1f53, x0)
    const low0 = Math.imul(0xd2511f53, x0)
    const high1 = multiplyHigh(0xcd9e, 0x8d57, x2)
    const low1 = Math.imul(0xcd9e8d57, x2)
    x0 = high1 ^ x1 ^ key0
    x1 = low1
    x2 = high0 ^ x3 ^ key1
    x3 = low0
    key0 = (key0 + 0x9e3779b9) | 0
    key1 = (key1 + 0xbb67ae85) | 0
  }
  words[0] = x0
  words[1] = x1
  words[2] = x2
  words[3] = x3
  return words
}

/**
 * The upper 32 bits, signed, of the 64-bit product of unsigned 32-bit integers, of which `a` is given by its halves; `b` may be
 * the signed number of the same bits. Every sum fits in 32 bits, and V8 computes them as such.
 */
function multiplyHigh(aHigh: number, aLow: number, b: number): number {
  const bLow = b & 0xffff
  const bHigh = b >>> 16
  const middle = (Math.imul(aHigh, bLow) + (Math.imul(aLow, bLow) >>> 16)) | 0
  const carry = (Math.imul(aLow, bHigh) + (middle & 0xffff)) | 0
  return (Math.imul(aHigh, bHigh) + (middle >>> 16) + (carry >>> 16)) | 0
}

function checkFloats(values: unknown): void {
  const dtype = dtypeOf(values)
  if (dtype === 'float32' || dtype === 'float64') return
  throw codedTypeError(
    'ERR_INVALID_ARGUMENT',
    `Cannot draw random numbers as values must be a Float32Array or a Float64Array: current value is ${describeValue(values)}`,
    { argument: 'values' },
  )
}

function checkFinite(option: string, value: number): void {
  if (Number.isFinite(value)) return
  throw invalidOption('draw random numbers', option, 'a finite number', value)
}

function checkInteger(option: string, value: number, maximum: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= maximum) return
  throw invalidOption('draw random numbers', option, `an integer in 0..${maximum}`, value)
}
