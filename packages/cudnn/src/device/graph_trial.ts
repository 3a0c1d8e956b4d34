/** Times of each way that are compared; the minimum counts, as disturbances only add time. */
const SAMPLES = 3

/** Whether a graph is faster than the calls that it was made of. */
export class GraphTrial {
  readonly #milliseconds: Record<'calls' | 'graph', number[]> = { calls: [], graph: [] }

  /** True while this way should be timed. */
  awaits(way: 'calls' | 'graph'): boolean {
    return this.#milliseconds[way].length < SAMPLES
  }

  /** Adds one measured time. */
  note(way: 'calls' | 'graph', milliseconds: number): void {
    this.#milliseconds[way].push(milliseconds)
  }

  /** True once the graph has proved slower. */
  get isLost(): boolean {
    const { calls, graph } = this.#milliseconds
    return calls.length > 0 && !this.awaits('graph') && Math.min(...graph) > Math.min(...calls)
  }
}
