import { NO_MASS, type PrefixNode } from './prefix_tree.js'

/** At most `width` prefixes, the likeliest ones. */
export class KeptPrefixes<State> {
  readonly #width: number
  /** In descending order of `now.total`. */
  readonly descending: PrefixNode<State>[]

  /** @param survivors at most `width`. */
  constructor(width: number, survivors: readonly PrefixNode<State>[]) {
    this.#width = width
    this.descending = survivors.toSorted((a, b) => b.now.total - a.now.total)
  }

  /** Whether a prefix of this log-probability has a place. */
  admits(total: number): boolean {
    if (!(total > Number.NEGATIVE_INFINITY)) return false
    return this.descending.length < this.#width || total > this.descending[this.descending.length - 1].now.total
  }

  /** Adds an admitted prefix; the least likely one leaves a full beam. */
  add(node: PrefixNode<State>): void {
    const dropped = this.descending.length === this.#width ? this.descending.pop() : undefined
    if (dropped !== undefined) dropped.now = NO_MASS
    let low = 0
    for (let high = this.descending.length; low < high; ) {
      const middle = (low + high) >> 1
      if (this.descending[middle].now.total >= node.now.total) low = middle + 1
      else high = middle
    }
    this.descending.splice(low, 0, node)
  }
}
