import { type CanonicalParams, canonicalToOnnx, type FloatArray, Inspectable, type Tensor } from '@cudnn-rnn/canonical'
import { checkOptions, codedError, integerFrom, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import { type ImportedNetwork, importWeights } from '@cudnn-rnn/interop'
import type { Elements } from '@cudnn-rnn/interop/internal'
import type { StreamPoolOptions } from '@cudnn-rnn/models'
import { checkStreams, type GraphState } from './find_states.js'
import { type FoldedGraph, type GraphValue, live } from './fold/fold_graph.js'
import { encodeGraph } from './fold/graph_bytes.js'
import { withName } from './fold/graph_node.js'
import { type GraphStreamPool, openGraphPool } from './runs/graph_pool.js'
import { GraphRun } from './runs/graph_run.js'
import { type FoldGraph, GraphRuns, type OpenRun } from './runs/graph_runs.js'
import { GraphStream } from './runs/graph_stream.js'
import { type RowwiseGraph, rowwiseGraph } from './runs/rowwise_graph.js'
import { wholeSequence } from './runs/whole_sequence.js'
import { type GraphFeeds, type GraphResults, type OnnxRuntime, RuntimeSession } from './runtime.js'

const SEQUENCE_OPTIONS = {
  /** Steps that are computed at once. Default 16. */
  chunk: optional(integerFrom(1)),
}

/** Options of `sequence`. */
interface SequenceOptions extends OptionsOf<typeof SEQUENCE_OPTIONS> {}

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
  readonly #runs: GraphRuns
  #rowwise: Promise<RowwiseGraph> | undefined
  #isClosed = false

  private constructor(runs: GraphRuns) {
    super()
    this.#runs = runs
  }

  /** @internal */
  static async of(fold: FoldGraph, runtime: OnnxRuntime, options: object | undefined): Promise<Graph> {
    const open: OpenRun = async (stateful) => {
      const { graph } = stateful
      return new GraphRun(stateful, await RuntimeSession.open(runtime, encodeGraph(graph), options, graph.file.path))
    }
    const stateful = await fold(new Map())
    return new Graph(new GraphRuns(stateful, await open(stateful), fold, open))
  }

  /** Inputs other than states. A size by name is open. */
  get inputs(): readonly GraphValue[] {
    return this.#runs.general.inputs
  }

  /** Outputs other than states. */
  get outputs(): readonly GraphValue[] {
    return this.#runs.general.outputs
  }

  /** The states that a stream carries, and how each was found. */
  get states(): readonly GraphState[] {
    return this.#runs.general.states
  }

  /**
   * One run without a stream, with the names of the file. States that the file has as inputs are zeros where they are not fed,
   * and outputs are in the result.
   *
   * @throws TypeError `ERR_GRAPH_INPUT`, `ERR_INVALID_ARGUMENT`; Error `ERR_GRAPH_RUNTIME`, `ERR_GRAPH_CLOSED`
   */
  async run(feeds: GraphFeeds): Promise<GraphResults> {
    this.#checkOpen()
    return this.#runs.general.once(feeds)
  }

  /**
   * A stream, which carries the states from call to call, from zeros. Any number of streams share the session.
   *
   * @throws Error `ERR_GRAPH_STATES_AMBIGUOUS`, `ERR_GRAPH_NOT_STREAMING`, `ERR_GRAPH_CLOSED`
   */
  stream(): GraphStream {
    this.#checkOpen()
    checkStreams(this.#runs.stateful)
    return new GraphStream(this.#runs)
  }

  /**
   * A pool of streams, of which each round computes the next steps together. The rows of the graph are compared first: those of
   * a batch must be computed apart.
   *
   * @throws Error `ERR_GRAPH_BATCH_FIXED`, `ERR_GRAPH_OPEN_SIZE`, `ERR_GRAPH_NOT_ROWWISE`, `ERR_GRAPH_UNSUPPORTED`, and those of
   *   {@link stream}; RangeError `ERR_INVALID_OPTION`; TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`
   */
  async streamPool(options: StreamPoolOptions = {}): Promise<GraphStreamPool> {
    return openGraphPool(this.#runs, await this.#rows('open a pool of streams'), options)
  }

  /**
   * A whole recording from zeros: inputs [T,B,…] to outputs [T,B,…], the numbers of a stream of T steps. Every node but the
   * recurrent ones computes `chunk` steps at once.
   *
   * @throws Error and TypeError of {@link streamPool}; TypeError `ERR_GRAPH_INPUT`
   */
  async sequence(feeds: GraphFeeds, options: SequenceOptions = {}): Promise<GraphResults> {
    const action = 'compute a sequence'
    const { chunk = 16 } = checkOptions(action, options, SEQUENCE_OPTIONS)
    return wholeSequence(this.#runs, await this.#rows(action), feeds, chunk)
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
    const { stateful } = this.#runs
    await this.#runs.replace({ ...stateful, graph: withWeights(stateful.graph, name, weights ?? {}) })
  }

  /** The ONNX file of the folded graph, with the exposed states as inputs and outputs: it runs anywhere. */
  toBytes(): Uint8Array {
    this.#checkOpen()
    return encodeGraph(this.#runs.stateful.graph)
  }

  /** Releases the session, after the runs that are not done. */
  dispose(): void {
    this.#isClosed = true
    this.#runs.release()
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
    checkStreams(this.#runs.stateful)
    this.#rowwise ??= rowwiseGraph(action, this.#runs.general)
    // A failure is another one next time, as the action is.
    return this.#rowwise.catch((error: unknown) => {
      this.#rowwise = undefined
      throw error
    })
  }

  #checkOpen(): void {
    if (this.#isClosed) throw codedError('ERR_GRAPH_CLOSED', 'Cannot use a graph as it must not be disposed')
  }
}

/** The weights of a recurrent node by the places of its inputs. */
const INPUTS = ['', 'W', 'R', 'B']

/** A graph whose recurrent node of that name, or with an output of that name, has other weights. */
function withWeights(
  graph: FoldedGraph,
  name: string,
  weights: Readonly<Record<string, Tensor<FloatArray>>>,
): FoldedGraph {
  const constants = new Map(graph.constants)
  const nodes = graph.nodes.map((node) => {
    if (node.name !== name && !node.outputs.includes(name)) return node
    let { inputs } = node
    for (const [key, { data, shape }] of Object.entries(weights)) {
      const own = `${name}/${key}`
      const type = data instanceof Float64Array ? 'float64' : 'float32'
      constants.set(own, { type, shape, elements: data as Elements })
      inputs = withName(inputs, INPUTS.indexOf(key), own)
    }
    return { ...node, inputs }
  })
  return { ...graph, ...live({ nodes, constants }, graph.outputs) }
}
