import type { StatefulGraph } from './find_states.js'
import { GraphRun } from './graph_run.js'
import type { GraphTensor, RuntimeSession } from './runtime.js'

/** Sizes for which a graph is folded again; each takes a session. */
const MOST_FITTED = 2

/**
 * Runs of a graph that has branches on the sizes of its inputs: at the first step of a size it is folded for this size, and the
 * branches disappear.
 */
export class FittedRuns {
  readonly #general: GraphRun
  readonly #fold: (sizes: ReadonlyMap<string, number>) => Promise<StatefulGraph>
  readonly #open: (stateful: StatefulGraph) => Promise<RuntimeSession>
  readonly #fitted = new Map<string, Promise<GraphRun>>()
  #isFitting: boolean

  constructor(
    stateful: StatefulGraph,
    general: GraphRun,
    fold: (sizes: ReadonlyMap<string, number>) => Promise<StatefulGraph>,
    open: (stateful: StatefulGraph) => Promise<RuntimeSession>,
  ) {
    this.#general = general
    this.#fold = fold
    this.#open = open
    this.#isFitting = general.openSizes({}).size > 0 && stateful.graph.nodes.some(({ opType }) => opType === 'If')
  }

  /** The run for inputs of these sizes. */
  of(fed: Readonly<Record<string, GraphTensor>>): GraphRun | Promise<GraphRun> {
    if (!this.#isFitting) return this.#general
    const sizes = this.#general.openSizes(fed)
    const key = String([...sizes.values()])
    const known = this.#fitted.get(key)
    if (known !== undefined || this.#fitted.size >= MOST_FITTED) return known ?? this.#general
    // A size that cannot be folded has its error from the general graph.
    const made = this.#fit(sizes).catch(() => this.#general)
    this.#fitted.set(key, made)
    return made
  }

  /** Ends the use of these runs: the weights of the general one were replaced, or the graph is disposed. */
  end(): void {
    this.#isFitting = false
    for (const fitted of this.#fitted.values())
      void fitted.then((run) => run !== this.#general && run.session.release())
    this.#fitted.clear()
  }

  async #fit(sizes: ReadonlyMap<string, number>): Promise<GraphRun> {
    const stateful = await this.#fold(sizes)
    const names = (states: GraphRun['states']) => String(states.map(({ input, output }) => [input, output]))
    // Streams carry the states of the general graph.
    if (names(stateful.states) !== names(this.#general.states)) return this.#general
    return new GraphRun(stateful, await this.#open(stateful))
  }
}
