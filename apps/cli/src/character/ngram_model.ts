/**
 * A baseline to beat: P(next | the n−1 before) from counts, with Witten-Bell smoothing toward the shorter context, down to
 * the unigram, which is itself smoothed toward uniform. (Witten & Bell 1991: the weight of the lower order is the number
 * of distinct followers.)
 */
export class NgramModel {
  readonly #vocabularySize: number
  /** For contexts of 0, 1, … n−1 characters: counts of the next character. */
  readonly #contexts: readonly ReadonlyMap<number, Followers>[]

  /** @param order n: 2 for bigrams, 3 for trigrams; V^n must be a safe integer. */
  constructor(order: number, ids: Int32Array, vocabularySize: number) {
    this.#vocabularySize = vocabularySize
    const contexts = Array.from({ length: order }, () => new Map<number, Followers>())
    for (let index = 0; index < ids.length; index++) {
      for (let length = 0; length < order && length <= index; length++) {
        const key = this.#contextBefore(ids, index, length)
        let followers = contexts[length].get(key)
        if (followers === undefined) {
          followers = { counts: new Map(), total: 0 }
          contexts[length].set(key, followers)
        }
        followers.counts.set(ids[index], (followers.counts.get(ids[index]) ?? 0) + 1)
        followers.total++
      }
    }
    this.#contexts = contexts
  }

  /** Probability of `ids[index]` given the ids before it. */
  probability(ids: Int32Array, index: number): number {
    const next = ids[index]
    const unigram = this.#contexts[0].get(0)
    const letters = (unigram?.total ?? 0) + this.#vocabularySize
    let probability = ((unigram?.counts.get(next) ?? 0) + 1) / letters
    for (let length = 1; length < this.#contexts.length && length <= index; length++) {
      const followers = this.#contexts[length].get(this.#contextBefore(ids, index, length))
      if (followers === undefined) break
      const distinct = followers.counts.size
      probability = ((followers.counts.get(next) ?? 0) + distinct * probability) / (followers.total + distinct)
    }
    return probability
  }

  /** Mean cross-entropy in bits of every character after the first. */
  bitsPerCharacter(ids: Int32Array): number {
    let bits = 0
    for (let index = 1; index < ids.length; index++) bits -= Math.log2(this.probability(ids, index))
    return bits / (ids.length - 1)
  }

  /** The `length` characters before `index` as one number. */
  #contextBefore(ids: Int32Array, index: number, length: number): number {
    let key = 0
    for (let place = index - length; place < index; place++) key = key * this.#vocabularySize + ids[place]
    return key
  }
}

interface Followers {
  readonly counts: Map<number, number>
  total: number
}
