import { extended, type PrefixScorer } from './prefix_scorer.js'

/** Natural logarithms of a prefix's probability at one time step, by the last symbol of its paths (blank or label). */
export interface PrefixMass {
  readonly blank: number
  readonly label: number
  readonly total: number
}

export const NO_MASS: PrefixMass = Object.freeze({
  blank: Number.NEGATIVE_INFINITY,
  label: Number.NEGATIVE_INFINITY,
  total: Number.NEGATIVE_INFINITY,
})

/** One prefix of a beam search: its last label, behind the prefix of all before. */
export class PrefixNode<State> {
  readonly parent: PrefixNode<State> | undefined
  /** -1 for the empty prefix. */
  readonly label: number
  readonly state: State
  /** The term that the scorer added for the last label. */
  readonly score: number
  readonly #children = new Map<number, PrefixNode<State>>()
  /** At the step before. */
  before: PrefixMass = NO_MASS
  /** At this step; {@link NO_MASS} outside of the beam. */
  now: PrefixMass = NO_MASS

  constructor(parent: PrefixNode<State> | undefined, label: number, state: State, score: number) {
    this.parent = parent
    this.label = label
    this.state = state
    this.score = score
  }

  /** In the beam. */
  get isActive(): boolean {
    return this.now.total > Number.NEGATIVE_INFINITY
  }

  /** This prefix and `label`; scored the first time. */
  child(label: number, scorer: PrefixScorer<State>): PrefixNode<State> {
    let child = this.#children.get(label)
    if (child === undefined) {
      const { state, score } = extended(scorer, this.state, label)
      child = new PrefixNode(this, label, state, score)
      this.#children.set(label, child)
    }
    return child
  }

  /** @param mergeRepeated drops labels equal to the one before, in a text whose repeats were merged already. */
  labels(mergeRepeated: boolean): number[] {
    const labels: number[] = []
    let after = -1
    for (let node: PrefixNode<State> = this; node.parent !== undefined; node = node.parent) {
      if (!mergeRepeated || node.label !== after) labels.push(node.label)
      after = node.label
    }
    return labels.reverse()
  }
}
