import { checkOptions, integerFrom, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import { type CanonicalParams, canonicalToOnnx, type FloatArray, Inspectable } from '@cudnn-rnn/canonical'
import { type ImportedNetwork, importWeights } from '@cudnn-rnn/interop'
import type { StreamPoolOptions } from '@cudnn-rnn/models'
import { codedError } from './coded_error.js'
import { checkStreams, type GraphState, type StatefulGraph } from './find_states.js'
import { FittedRuns } from './fitted_runs.js'
import type { FoldedGraph, GraphValue } from './fold/fold_graph.js'
import { encodeGraph } from './fold/graph_bytes.js'
import { GraphStreamPool } from './graph_pool.js'
import { GraphRun } from './graph_run.js'
import { GraphStream } from './graph_stream.js'
import { type RowwiseGraph, rowwiseGraph } from './rowwise_graph.js'
import { type GraphFeeds, type GraphResults, type OnnxRuntime, RuntimeSession } from './runtime.js'
import { sequenceGraph } from './sequence_graph.js'
import { givenSequence, outputsOf, runSteps, sequenceResults, zerosOf } from './whole_sequence.js'
import { withWeights } from './with_weights.js'

/** Sessions for sequences of different batches that are kept. */
const MOST_SEQUENCES = 4

const SEQUENCE_OPTIONS = {
  /** Steps that are computed at once. Default 16. */
  chunk: optional(integerFrom(1)),
}

/** Options of `sequence`. */
export interface SequenceOptions extends OptionsOf<typeof SEQUENCE_OPTIONS> {}

/** Folds the file again, with numbers in place of open sizes. */
type FoldAgain = (sizes: ReadonlyMap<string, number>) => Promise<StatefulGraph>
type OpenSession = (graph: FoldedGraph) => Promise<RuntimeSession>

/**
 * An ONNX model that runs on ONNX Runtime, with its states. Made by `openGraph`.
 *
 * @example
 * ```ts no-run
 * import { openGraph } from '@cudnn-rnn/rnn/graphs'
 * import * as ort from 'onnxruntime-node'
 *
 * const graph = await openGraph('enc.onnx', { ort })
 * console.log(graph.inputs, graph.outputs)
 * for (const { input, output, found } of graph.states) console.log(input, output, found)
 * ```
 */
export class Graph extends Inspectable {
  #stateful: StatefulGraph
  readonly #run: GraphRun
  readonly #open: OpenSession
  readonly #fitted: FittedRuns
  #rowwise: Promise<RowwiseGraph> | undefined
  /** Runs of the graph of whole sequences by their batch, the last ones. */
  readonly #sequences = new Map<number, Promise<GraphRun>>()
  #isClosed = false

  private constructor(stateful: StatefulGraph, run: GraphRun, open: OpenSession, fold: FoldAgain) {
    super()
    this.#stateful = stateful
    this.#run = run
    this.#open = open
    this.#fitted = new FittedRuns(stateful, run, fold, ({ graph }) => open(graph))
  }

  /** @internal */
  static async of(
    stateful: StatefulGraph,
    runtime: OnnxRuntime,
    options: object | undefined,
    fold: FoldAgain,
  ): Promise<Graph> {
    const { path } = stateful.graph.file
    const open = (graph: FoldedGraph) => RuntimeSession.open(runtime, encodeGraph(graph), options, path)
    return new Graph(stateful, new GraphRun(stateful, await open(stateful.graph)), open, fold)
  }

  /** Inputs other than states. A size by name is open. */
  get inputs(): readonly GraphValue[] {
    return this.#run.inputs
  }

  /** Outputs other than states. */
  get outputs(): readonly GraphValue[] {
    return this.#run.outputs
  }

  /** The states that a stream carries, and how each was found. */
  get states(): readonly GraphState[] {
    return this.#run.states
  }

  /**
   * One run without a stream, with the names of the file. States that the file has as inputs are zeros where they are not fed,
   * and outputs are in the result.
   *
   * @throws TypeError `ERR_GRAPH_INPUT`, `ERR_INVALID_ARGUMENT`; Error `ERR_GRAPH_RUNTIME`, `ERR_GRAPH_CLOSED`
   */
  async run(feeds: GraphFeeds): Promise<GraphResults> {
    this.#checkOpen()
    return this.#run.once(feeds)
  }

  /**
   * A stream, which carries the states from call to call, from zeros. Any number of streams share the session.
   *
   * @throws Error `ERR_GRAPH_STATES_AMBIGUOUS`, `ERR_GRAPH_NOT_STREAMING`, `ERR_GRAPH_CLOSED`
   */
  stream(): GraphStream {
    this.#checkOpen()
    checkStreams(this.#run.path, this.#stateful)
    return new GraphStream(this.#run, this.#fitted)
  }

  /**
   * A pool of streams, of which each round computes the next steps together. The rows of the graph are compared first: those of
   * a batch must be computed apart.
   *
   * @throws Error `ERR_GRAPH_BATCH_FIXED`, `ERR_GRAPH_OPEN_SIZE`, `ERR_GRAPH_NOT_ROWWISE`, `ERR_GRAPH_UNSUPPORTED`, and those of
   *   {@link stream}; RangeError `ERR_INVALID_OPTION`; TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`
   */
  async streamPool(options: StreamPoolOptions = {}): Promise<GraphStreamPool> {
    return new GraphStreamPool(this.#run, await this.#rows('open a pool of streams'), options)
  }

  /**
   * A whole recording from zeros: inputs [T,B,…] to outputs [T,B,…], the numbers of a stream of T steps. Every node but the
   * recurrent ones computes `chunk` steps at once.
   *
   * @throws Error and TypeError of {@link streamPool}; TypeError `ERR_GRAPH_INPUT`
   */
  async sequence(feeds: GraphFeeds, options: SequenceOptions = {}): Promise<GraphResults> {
    const action = 'compute a sequence'
    checkOptions(action, options, SEQUENCE_OPTIONS)
    const { chunk = 16 } = options
    const graph = await this.#rows(action)
    const given = givenSequence(this.#run, graph, feeds)
    const { steps, batch } = given
    const run = await this.#sequenceOf(batch)
    const outputs = outputsOf(graph, given)
    let states = zerosOf(run, graph, batch)
    for (let from = 0; from < steps; from += chunk)
      states = await runSteps(run, graph, given, [from, Math.min(steps, from + chunk)], states, outputs)
    return sequenceResults(run, graph, given, outputs)
  }

  /** The recurrent parts as networks, by the names of their nodes; their weights can be trained and written back. */
  async networks(): Promise<readonly ImportedNetwork[]> {
    return (await importWeights(this.toBytes())).networks
  }

  /**
   * Replaces the weights of a network: of this graph, of its streams and pools, and of {@link toBytes}. States stay.
   *
   * @throws WeightFileError `ERR_WEIGHTS_NOT_FOUND`; RangeError `ERR_TENSOR_SHAPE`; Error `ERR_GRAPH_RUNTIME`, `ERR_GRAPH_CLOSED`
   */
  async replace(name: string, canonical: CanonicalParams<FloatArray>): Promise<void> {
    const { descriptor } = (await importWeights(this.toBytes())).network(name)
    const [weights] = canonicalToOnnx(descriptor, canonical)
    const graph = withWeights(this.#stateful.graph, name, weights ?? {})
    const session = await this.#open(graph)
    this.#stateful = { ...this.#stateful, graph }
    this.#run.replaceSession(session)
    this.#fitted.end()
    this.#forgetSequences()
  }

  /** The ONNX file of the folded graph, with the exposed states as inputs and outputs: it runs anywhere. */
  toBytes(): Uint8Array {
    this.#checkOpen()
    return encodeGraph(this.#stateful.graph)
  }

  /** Releases the session, after the runs that are not done. */
  dispose(): void {
    this.#isClosed = true
    this.#run.session.release()
    this.#fitted.end()
    this.#forgetSequences()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected summary() {
    const names = (values: readonly { readonly name: string }[]) => values.map(({ name }) => name)
    return {
      kind: 'Graph',
      inputs: names(this.inputs),
      outputs: names(this.outputs),
      states: this.states.map(({ input, output }) => `${input} -> ${output}`),
    }
  }

  /** The rows of the graph, compared once. */
  async #rows(action: string): Promise<RowwiseGraph> {
    this.#checkOpen()
    checkStreams(this.#run.path, this.#stateful)
    this.#rowwise ??= rowwiseGraph(action, this.#run)
    // A failure is another one next time, as the action is.
    return this.#rowwise.catch((error: unknown) => {
      this.#rowwise = undefined
      throw error
    })
  }

  async #sequenceOf(batch: number): Promise<GraphRun> {
    const known = this.#sequences.get(batch)
    if (known !== undefined) return known
    const graph = sequenceGraph(this.#stateful, batch)
    const opened = this.#open(graph).then((session) => new GraphRun({ ...this.#stateful, graph }, session))
    if (this.#sequences.size >= MOST_SEQUENCES) this.#forgetSequences()
    this.#sequences.set(batch, opened)
    opened.catch(() => this.#sequences.delete(batch))
    return opened
  }

  #forgetSequences(): void {
    for (const opened of this.#sequences.values())
      opened.then(({ session }) => session.release()).catch(() => undefined)
    this.#sequences.clear()
  }

  #checkOpen(): void {
    if (this.#isClosed) throw codedError('ERR_GRAPH_CLOSED', 'Cannot use a graph as it must not be disposed')
  }
}
