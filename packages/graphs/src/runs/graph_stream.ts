import { Inspectable } from '@cudnn-rnn/canonical'
import { codedError } from '@cudnn-rnn/canonical/rules'
import type { GraphFeeds, GraphResults, Tensors } from '../runtime.js'
import type { GraphRuns } from './graph_runs.js'

/** The states of a stream by the names of their inputs. */
export type GraphStreamState = Tensors

/**
 * One stream of a graph. It carries the states from call to call; its calls take effect in their order.
 *
 * @example
 * ```ts no-run
 * import { openGraph } from '@cudnn-rnn/rnn/graphs'
 * import * as ort from 'onnxruntime-node'
 *
 * const graph = await openGraph('silero_vad.onnx', { ort, fixed: { sr: 16000, sequence: 576 } })
 * const stream = graph.stream()
 * const frame = { data: new Float32Array(576), shape: [1, 576] }
 * await stream.run({ input: frame })
 * const saved = await stream.state()
 * await stream.run({ input: frame })
 * stream.restore(saved) // back to the state after the first frame
 * ```
 */
export class GraphStream extends Inspectable {
  readonly #runs: GraphRuns
  #states: GraphStreamState | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #isClosed = false

  /** @internal */
  constructor(runs: GraphRuns) {
    super()
    this.#runs = runs
  }

  /**
   * The next step: feeds of all inputs but the states, to all outputs but the states. A step that fails leaves the states as they
   * were.
   *
   * @throws TypeError `ERR_GRAPH_INPUT`, `ERR_GRAPH_STATE`, `ERR_INVALID_ARGUMENT`; Error `ERR_GRAPH_RUNTIME`,
   *   `ERR_GRAPH_CLOSED`
   */
  async run(feeds: GraphFeeds): Promise<GraphResults> {
    this.#checkOpen()
    const fed = this.#runs.general.fed('run a stream', feeds)
    return this.#next(async () => {
      const before = this.#states ?? this.#runs.general.zeroStates(fed)
      const { results, states } = await (await this.#runs.of(fed)).step(fed, before)
      this.#states = states
      return results
    })
  }

  /** The next step starts from zeros. Throws Error `ERR_GRAPH_CLOSED`. */
  reset(): void {
    this.#become(undefined)
  }

  /** Copies of the states after the steps called before; of a stream at its beginning those of one row. */
  async state(): Promise<GraphStreamState> {
    this.#checkOpen()
    return this.#next(async () => {
      const { general } = this.#runs
      return general.checkedStates(this.#states ?? general.zeroStates({}))
    })
  }

  /**
   * Takes over a result of {@link state}.
   *
   * @throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_GRAPH_INPUT`; RangeError `ERR_GRAPH_STATE`; Error `ERR_GRAPH_CLOSED`
   */
  restore(state: GraphStreamState): void {
    this.#checkOpen()
    this.#become(this.#runs.general.checkedStates(state))
  }

  /** Ends the stream; steps that were called before are computed. */
  dispose(): void {
    this.#isClosed = true
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected summary() {
    return { kind: 'GraphStream', graph: this.#runs.general.path, disposed: this.#isClosed || undefined }
  }

  #become(states: GraphStreamState | undefined): void {
    this.#checkOpen()
    this.#next(async () => {
      this.#states = states
    })
  }

  #checkOpen(): void {
    if (this.#isClosed) throw codedError('ERR_GRAPH_CLOSED', 'Cannot use a stream as it must not be disposed')
  }

  #next<Result>(act: () => Promise<Result>): Promise<Result> {
    const result = this.#queue.then(act)
    this.#queue = result.catch(() => undefined)
    return result
  }
}
