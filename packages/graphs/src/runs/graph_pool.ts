import { Inspectable } from '@cudnn-rnn/canonical'
import {
  type PooledStream,
  type RowNetwork,
  type StreamPool,
  type StreamPoolOptions,
  streamPoolOf,
} from '@cudnn-rnn/models'
import type { GraphRuns } from './graph_runs.js'
import type { GraphStreamState } from './graph_stream.js'
import type { RowwiseGraph } from './rowwise_graph.js'
import type { GraphFeeds, GraphResults } from '../runtime.js'

/**
 * Streams of one graph that share batched runs: each round computes the next step of every stream that has one. `open` throws
 * RangeError `ERR_POOL_FULL`, `ERR_STREAM_DISPOSED`, `ERR_GRAPH_STATE`; TypeError `ERR_GRAPH_INPUT`.
 */
export type GraphStreamPool = StreamPool<GraphStreamState, PooledGraphStream>

export function openGraphPool(runs: GraphRuns, graph: RowwiseGraph, options: StreamPoolOptions): GraphStreamPool {
  return streamPoolOf(graphRows(runs, graph), options, (stream) => new PooledGraphStream(runs, graph, stream))
}

/**
 * One stream of a pool. Its calls take effect in their order.
 *
 * @example
 * ```ts no-run
 * import { openGraph } from '@cudnn-rnn/rnn/graphs'
 * import * as ort from 'onnxruntime-node'
 *
 * const graph = await openGraph('silero_vad.onnx', { ort, fixed: { sr: 16000, sequence: 576 } })
 * const pool = await graph.streamPool({ maxStreams: 200, maxBatch: 16 })
 * const stream = pool.open()
 * const { output } = await stream.run({ input: { data: new Float32Array(576), shape: [1, 576] } })
 * console.log(output?.data[0], pool.stats().streams)
 * stream.close()
 * ```
 */
export class PooledGraphStream extends Inspectable {
  readonly #runs: GraphRuns
  readonly #graph: RowwiseGraph
  readonly #stream: PooledStream<GraphStreamState>

  /** @internal */
  constructor(runs: GraphRuns, graph: RowwiseGraph, stream: PooledStream<GraphStreamState>) {
    super()
    this.#runs = runs
    this.#graph = graph
    this.#stream = stream
  }

  /**
   * The next step of one row. Outputs without rows, and those that are not of float32, are not in the result.
   *
   * Rejects with TypeError `ERR_GRAPH_INPUT`, `ERR_GRAPH_STATE`; Error `ERR_GRAPH_RUNTIME`; RangeError
   * `ERR_STREAM_QUEUE_FULL`, `ERR_STREAM_CLOSED`, `ERR_STREAM_DISPOSED`.
   */
  async run(feeds: GraphFeeds): Promise<GraphResults> {
    const { inputs, outputs } = this.#graph
    const run = this.#runs.general
    const input = inputs.copy(run.fed('run a stream', feeds, run.withRows(run.inputs, 1)), 0, 1)
    const { data } = await this.#stream.step({ data: input, shape: [input.length] })
    return outputs.tensors(run.session, [[data as Float32Array, 0]])
  }

  /** Copies of the states after the steps called before. */
  state(): Promise<GraphStreamState> {
    return this.#stream.state()
  }

  /** Throws RangeError `ERR_GRAPH_STATE`, `ERR_STREAM_CLOSED`; TypeError `ERR_GRAPH_INPUT`. */
  restore(state: GraphStreamState): void {
    this.#stream.restore(state)
  }

  /** The next step starts from zeros. Throws RangeError `ERR_STREAM_CLOSED`. */
  reset(): void {
    this.#stream.reset()
  }

  /** Rejects queued calls with `ERR_STREAM_CLOSED` and gives the place in the pool to the next stream. */
  close(): void {
    this.#stream.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  protected summary() {
    const { waiting, closed } = this.#stream
    return { kind: 'PooledGraphStream', graph: this.#runs.general.path, waiting, closed: closed || undefined }
  }
}

/** A graph as the network of a pool: the states of all its rows, each an array that is taken with its first step. */
function graphRows(runs: GraphRuns, { inputs, states, outputs }: RowwiseGraph): RowNetwork<GraphStreamState> {
  const held = new Map<number, Float32Array>()
  const heldOf = (row: number) => held.get(row) ?? new Float32Array(states.size)
  return {
    dtype: 'float32',
    inputSize: inputs.size,
    outputSize: outputs.size,
    async step(rows: Int32Array, input: Float32Array, output: Float32Array) {
      const run = runs.general
      const fed = Array.from(rows, (_, at) => [input, at * inputs.size] as const)
      const before = Array.from(rows, (row) => [heldOf(row), 0] as const)
      const made = await run.step(inputs.tensors(run.session, fed), states.tensors(run.session, before))
      for (const [at, row] of rows.entries()) {
        held.set(row, states.copy(made.states, at, rows.length))
        outputs.copy(made.results, at, rows.length, output, at * outputs.size)
      }
    },
    reset: (row) => void held.delete(row),
    state: async (row) => states.tensors(runs.general.session, [[heldOf(row), 0]]),
    checkedState: (state) => runs.general.checkedStates(state, 1),
    restore: (row, state) => void held.set(row, states.copy(state, 0, 1)),
    dispose: () => held.clear(),
  }
}
