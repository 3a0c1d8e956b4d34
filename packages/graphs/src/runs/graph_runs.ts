import type { StatefulGraph } from '../find_states.js'
import type { GraphRun } from './graph_run.js'
import type { Tensors } from '../runtime.js'
import { sequenceGraph } from './sequence_graph.js'

/** Sizes for which a graph is folded again; each takes a session. */
const MOST_FITTED = 2

/** Folds the file, with numbers in place of open sizes. */
export type FoldGraph = (sizes: ReadonlyMap<string, number>) => Promise<StatefulGraph>
/** Opens a session. */
export type OpenRun = (stateful: StatefulGraph) => Promise<GraphRun>

/** The runs of one graph, each with a session: of any sizes, of the sizes of a stream, and of whole sequences. */
export class GraphRuns {
  stateful: StatefulGraph
  /** Takes inputs of any sizes. */
  general: GraphRun
  readonly #fold: FoldGraph
  readonly #open: OpenRun
  /** By the open sizes. */
  readonly #fitted = new Map<string, Promise<GraphRun>>()
  #sequence: Promise<GraphRun> | undefined
  #isFitting: boolean

  constructor(stateful: StatefulGraph, general: GraphRun, fold: FoldGraph, open: OpenRun) {
    this.stateful = stateful
    this.general = general
    this.#fold = fold
    this.#open = open
    const isOpen = general.inputs.some(({ shape }) =>
      shape.some((size) => typeof size === 'string' && !general.isBatch(size)),
    )
    this.#isFitting = isOpen && stateful.graph.nodes.some(({ opType }) => opType === 'If')
  }

  /**
   * The run for inputs of these sizes: at the first step of a size, a graph that has branches on the sizes of its inputs is folded
   * for this size, and the branches disappear.
   */
  of(fed: Tensors): GraphRun | Promise<GraphRun> {
    if (!this.#isFitting) return this.general
    const sizes = new Map(this.general.openSizes(fed))
    sizes.delete('batch')
    const key = String([...sizes.values()])
    const known = this.#fitted.get(key)
    if (known !== undefined || this.#fitted.size >= MOST_FITTED) return known ?? this.general
    // A size that cannot be folded has its error from the general graph.
    const made = this.#fit(sizes).catch(() => this.general)
    this.#fitted.set(key, made)
    return made
  }

  /** The run of many steps at once. Throws Error `ERR_GRAPH_NOT_STREAMING`. */
  sequence(): Promise<GraphRun> {
    this.#sequence ??= sequenceGraph(this.stateful).then(this.#open)
    return this.#sequence
  }

  /** Goes on with another graph of the same inputs, outputs and states. */
  async replace(stateful: StatefulGraph): Promise<void> {
    const general = await this.#open(stateful)
    this.release()
    this.stateful = stateful
    this.general = general
  }

  /** Releases all sessions, after the runs that are not done. */
  release(): void {
    // The file has other weights than a graph that replaces this one.
    this.#isFitting = false
    const others = [...this.#fitted.values(), ...(this.#sequence === undefined ? [] : [this.#sequence])]
    for (const other of others) other.then(({ session }) => session.release()).catch(() => undefined)
    this.general.session.release()
    this.#fitted.clear()
    this.#sequence = undefined
  }

  async #fit(sizes: ReadonlyMap<string, number>): Promise<GraphRun> {
    const stateful = await this.#fold(sizes)
    const names = ({ states }: Pick<StatefulGraph, 'states'>) =>
      String(states.map(({ input, output }) => [input, output]))
    // Streams carry the states of the general graph.
    return names(stateful) === names(this.general) ? this.#open(stateful) : this.general
  }
}
