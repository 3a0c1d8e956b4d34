import { Inspectable } from '@cudnn-rnn/canonical'
import {
  type PooledStream,
  type RowNetwork,
  type StreamPool,
  type StreamPoolOptions,
  type StreamPoolStats,
  streamPoolOf,
} from '@cudnn-rnn/models'
import { copyRow, type RowLayout, rowsShape, sizeOf } from './batch_rows.js'
import type { GraphRun } from './graph_run.js'
import type { GraphStreamState } from './graph_stream.js'
import { floats, type RowwiseGraph } from './rowwise_graph.js'
import type { GraphFeeds, GraphResults, GraphTensor } from './runtime.js'

/**
 * Streams of one graph that share batched runs: each round computes the next step of every stream that has one. The pool of
 * `@cudnn-rnn/models`.
 *
 * @example
 * ```ts no-run
 * import { openGraph } from '@cudnn-rnn/rnn/graphs'
 * import * as ort from 'onnxruntime-node'
 *
 * const graph = await openGraph('silero_vad.onnx', { ort, fixed: { sr: 16000, sequence: 576 } })
 * const pool = await graph.streamPool({ maxStreams: 200, maxBatch: 16 })
 * const stream = pool.open()
 * console.log(pool.stats().streams) // 1
 * ```
 */
export class GraphStreamPool extends Inspectable {
  readonly #run: GraphRun
  readonly #graph: RowwiseGraph
  readonly #pool: StreamPool<GraphStreamState>

  /** @internal */
  constructor(run: GraphRun, graph: RowwiseGraph, options: StreamPoolOptions) {
    super()
    this.#run = run
    this.#graph = graph
    this.#pool = streamPoolOf(new GraphRows(run, graph), options)
  }

  /**
   * Opens a stream, from zeros or from a state.
   *
   * @throws RangeError `ERR_POOL_FULL`, `ERR_STREAM_DISPOSED`, `ERR_GRAPH_STATE`; TypeError `ERR_GRAPH_INPUT`
   */
  open(state?: GraphStreamState): PooledGraphStream {
    return new PooledGraphStream(this.#run, this.#graph, this.#pool.open(state))
  }

  stats(): StreamPoolStats {
    return this.#pool.stats()
  }

  /** Resolves when nothing waits any more. */
  drain(): Promise<void> {
    return this.#pool.drain()
  }

  /** Rejects queued calls with `ERR_STREAM_DISPOSED` and releases the states; the graph stays open. */
  dispose(): void {
    this.#pool.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected summary() {
    const { streams, maxStreams, rounds } = this.stats()
    return { kind: 'GraphStreamPool', graph: this.#run.path, streams, maxStreams, rounds }
  }
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
 * const stream = (await graph.streamPool()).open()
 * const { output } = await stream.run({ input: { data: new Float32Array(576), shape: [1, 576] } })
 * console.log(output?.data[0])
 * stream.close()
 * ```
 */
export class PooledGraphStream extends Inspectable {
  readonly #run: GraphRun
  readonly #graph: RowwiseGraph
  readonly #stream: PooledStream<GraphStreamState>

  /** @internal */
  constructor(run: GraphRun, graph: RowwiseGraph, stream: PooledStream<GraphStreamState>) {
    super()
    this.#run = run
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
    const fed = this.#run.streamFeeds(feeds, 1)
    const { data } = await this.#stream.step(joined(this.#graph.inputs, fed))
    return apart(this.#run, this.#graph.outputs, data as Float32Array)
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
    return { kind: 'PooledGraphStream', graph: this.#run.path, waiting, closed: closed || undefined }
  }
}

/** The rows of several tensors one after the other. */
function joined(layouts: readonly RowLayout[], tensors: Readonly<Record<string, GraphTensor>>) {
  const data = new Float32Array(sizeOf(layouts))
  for (const { name, offset } of layouts) data.set(floats(tensors[name]), offset)
  return { data, shape: [data.length] }
}

/** The tensors of rows that are one after the other. */
function apart(
  run: GraphRun,
  layouts: readonly RowLayout[],
  data: Float32Array,
): Readonly<Record<string, GraphTensor>> {
  const tensors = layouts.map(({ name, type, shape, offset, size }) => {
    return [name, run.session.tensor(type, data.slice(offset, offset + size), shape)] as const
  })
  return Object.fromEntries(tensors)
}

/** A graph as the network of a pool: the states of all its rows, each an array that is taken with its first step. */
class GraphRows implements RowNetwork<GraphStreamState> {
  readonly dtype = 'float32'
  readonly inputSize: number
  readonly outputSize: number
  readonly #run: GraphRun
  readonly #graph: RowwiseGraph
  readonly #states = new Map<number, Float32Array>()

  constructor(run: GraphRun, graph: RowwiseGraph) {
    this.#run = run
    this.#graph = graph
    this.inputSize = sizeOf(graph.inputs)
    this.outputSize = sizeOf(graph.outputs)
  }

  async step(rows: Int32Array, input: Float32Array, output: Float32Array): Promise<void> {
    const { inputs, states, outputs } = this.#graph
    const count = rows.length
    const places = Array.from(rows, (_, at) => [input, at * this.inputSize] as const)
    const fed = this.#batched(inputs, places)
    const before = this.#batched(
      states,
      Array.from(rows, (row) => [this.#stateOf(row), 0] as const),
    )
    const { results, states: after } = await this.#run.step(fed, before)
    for (const [at, row] of rows.entries()) {
      this.#states.set(row, this.#taken(states, after, at, count, new Float32Array(sizeOf(states)), 0))
      this.#taken(outputs, results, at, count, output, at * this.outputSize)
    }
  }

  reset(row: number): void {
    this.#states.delete(row)
  }

  async state(row: number): Promise<GraphStreamState> {
    return apart(this.#run, this.#graph.states, this.#stateOf(row))
  }

  checkedState(state: GraphStreamState): GraphStreamState {
    return this.#run.checkedStates(state, 1)
  }

  restore(row: number, state: GraphStreamState): void {
    this.#states.set(row, joined(this.#graph.states, state).data)
  }

  dispose(): void {
    this.#states.clear()
  }

  #stateOf(row: number): Float32Array {
    return this.#states.get(row) ?? new Float32Array(sizeOf(this.#graph.states))
  }

  /** Tensors of the rows whose elements are at these places. */
  #batched(layouts: readonly RowLayout[], places: readonly (readonly [Float32Array, number])[]) {
    const tensors = layouts.map((layout) => {
      const batch = new Float32Array(layout.size * places.length)
      for (const [row, [elements, offset]] of places.entries())
        copyRow(layout, [batch, row, places.length], [elements, offset], 'to batch')
      return [layout.name, this.#run.session.tensor(layout.type, batch, rowsShape(layout, places.length))] as const
    })
    return Object.fromEntries(tensors)
  }

  /** Copies a row of tensors to `elements`. */
  #taken(
    layouts: readonly RowLayout[],
    tensors: Readonly<Record<string, GraphTensor>>,
    row: number,
    rows: number,
    elements: Float32Array,
    offset: number,
  ): Float32Array {
    for (const layout of layouts)
      copyRow(layout, [floats(tensors[layout.name]), row, rows], [elements, offset], 'from batch')
    return elements
  }
}
