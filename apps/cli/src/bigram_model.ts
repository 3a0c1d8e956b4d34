/**
 * The baseline to beat: P(next | previous) from counts, with Witten-Bell smoothing towards the unigram, which is itself
 * smoothed towards uniform. (Witten & Bell 1991: the weight of the lower order is the number of distinct followers.)
 */
export class BigramModel {
  readonly #size: number
  readonly #pairs: Float64Array
  readonly #totals: Float64Array
  readonly #followers: Float64Array
  readonly #unigram: Float64Array

  constructor(ids: Int32Array, vocabularySize: number) {
    this.#size = vocabularySize
    this.#pairs = new Float64Array(vocabularySize ** 2)
    this.#totals = new Float64Array(vocabularySize)
    this.#followers = new Float64Array(vocabularySize)
    this.#unigram = new Float64Array(vocabularySize).fill(1 / (ids.length + vocabularySize))
    for (const id of ids) this.#unigram[id]! += 1 / (ids.length + vocabularySize)
    for (let index = 1; index < ids.length; index++) {
      const previous = ids[index - 1]!
      const pair = previous * vocabularySize + ids[index]!
      if (this.#pairs[pair] === 0) this.#followers[previous]!++
      this.#pairs[pair]!++
      this.#totals[previous]!++
    }
  }

  probability(previous: number, next: number): number {
    const lower = this.#unigram[next]!
    const followers = this.#followers[previous]!
    if (followers === 0) return lower
    return (this.#pairs[previous * this.#size + next]! + followers * lower) / (this.#totals[previous]! + followers)
  }

  /** Mean cross-entropy in bits of every character after the first. */
  bitsPerCharacter(ids: Int32Array): number {
    let bits = 0
    for (let index = 1; index < ids.length; index++) bits -= Math.log2(this.probability(ids[index - 1]!, ids[index]!))
    return bits / (ids.length - 1)
  }
}
