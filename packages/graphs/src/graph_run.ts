import { checkArguments } from '@cudnn-rnn/canonical/rules'
import { codedRangeError, codedTypeError } from './coded_error.js'
import type { GraphState, StatefulGraph } from './find_states.js'
import type { GraphValue } from './fold/fold_graph.js'
import type { Size } from './fold/open_sizes.js'
import { type GraphFeeds, type GraphResults, type GraphTensor, misfit, NAMED, type RuntimeSession } from './runtime.js'

type Tensors = Readonly<Record<string, GraphTensor>>

/** Runs of one session with the states of callers. */
export class GraphRun {
  readonly path: string
  readonly inputs: readonly GraphValue[]
  readonly outputs: readonly GraphValue[]
  readonly states: readonly GraphState[]
  #session: RuntimeSession
  readonly #batch: ReadonlySet<string>
  readonly #stateNames: ReadonlySet<string>
  readonly #outputNames: readonly string[]
  readonly #allNames: readonly string[]

  constructor({ graph, states }: StatefulGraph, session: RuntimeSession) {
    this.path = graph.file.path
    this.states = states
    this.#session = session
    this.#batch = graph.sizes.batch
    this.#stateNames = new Set(states.map(({ input }) => input))
    const stateOutputs = new Set(states.map(({ output }) => output))
    this.inputs = graph.inputs.filter(({ name }) => !this.#stateNames.has(name))
    this.outputs = graph.outputs.filter(({ name }) => !stateOutputs.has(name))
    this.#outputNames = this.outputs.map(({ name }) => name)
    this.#allNames = [...this.#outputNames, ...stateOutputs]
  }

  get session(): RuntimeSession {
    return this.#session
  }

  /** Later runs are of another session; the one before is released. */
  replaceSession(session: RuntimeSession): void {
    this.#session.release()
    this.#session = session
  }

  /** One run of a caller without a stream: states of the file that are not fed are zeros. */
  async once(feeds: GraphFeeds): Promise<GraphResults> {
    const own = this.states.filter(({ found }) => found !== 'exposed')
    const fed = this.#fed('run a graph', feeds, own)
    const all = { ...this.zeroStates(fed), ...fed }
    return this.session.run(all, [...this.#outputNames, ...own.map(({ output }) => output)])
  }

  /**
   * The tensors of a step of a stream.
   *
   * @param rows how many rows they must have; undefined for any number.
   * @throws TypeError `ERR_GRAPH_INPUT`, `ERR_GRAPH_STATE`
   */
  streamFeeds(feeds: GraphFeeds, rows?: number): Tensors {
    return this.#fed('run a stream', feeds, [], rows)
  }

  /** Inputs with an axis of steps before their own. Throws TypeError `ERR_GRAPH_INPUT`, `ERR_GRAPH_STATE`. */
  sequenceFeeds(action: string, feeds: GraphFeeds): Tensors {
    const inputs = this.inputs.map((value) => ({ ...value, shape: ['steps', ...value.shape] }))
    return this.#fed(action, feeds, [], undefined, inputs)
  }

  /** Whether a size is that of the batch. */
  isBatch(size: string): boolean {
    return this.#batch.has(size)
  }

  #rowsOf(value: GraphValue, rows: number | undefined): GraphValue {
    if (rows === undefined) return value
    return { ...value, shape: value.shape.map((size) => (this.#batch.has(String(size)) ? rows : size)) }
  }

  /** One step from states to states. */
  async step(fed: Tensors, before: Tensors): Promise<{ results: GraphResults; states: Tensors }> {
    const all = await this.session.run({ ...before, ...fed }, this.#allNames)
    const states: Record<string, GraphTensor> = {}
    for (const { input, output } of this.states) {
      const [old, made] = [before[input], all[output]]
      if (old === undefined || made === undefined) throw stateError(input, 'ONNX Runtime must give it out')
      const wrong = misfit(old.dims, made.dims)
      if (wrong !== undefined) throw stateError(input, `the output ${output} must have its shape: ${wrong}`)
      states[input] = made
    }
    const results: Record<string, GraphTensor> = {}
    for (const name of this.#outputNames) results[name] = all[name] as GraphTensor
    return { results, states }
  }

  /** The numbers of open sizes other than the batch, by their names. */
  openSizes(fed: Tensors): ReadonlyMap<string, number> {
    const sizes = new Map<string, number>()
    for (const { name, shape } of this.inputs)
      for (const [axis, size] of shape.entries())
        if (typeof size === 'string' && !this.#batch.has(size)) sizes.set(size, fed[name]?.dims[axis] ?? 0)
    return sizes
  }

  /** Zeros for each state, of as many rows as the feeds have, of one where there are none. */
  zeroStates(fed: Tensors): Tensors {
    const sizes = new Map<string, number>()
    for (const { name, shape } of this.inputs) {
      for (const [axis, size] of shape.entries()) {
        const given = fed[name]?.dims[axis]
        if (typeof size === 'string' && given !== undefined) sizes.set(this.#batch.has(size) ? 'batch' : size, given)
      }
    }
    const of = (state: string, size: Size) => {
      if (typeof size === 'number') return size
      const known = this.#batch.has(size) || size === 'batch' ? (sizes.get('batch') ?? 1) : sizes.get(size)
      if (known !== undefined) return known
      throw stateError(state, `its size ${size} must follow from an input: fix it by the option fixed`)
    }
    return Object.fromEntries(
      this.states.map(({ input, type, shape }) => [
        input,
        this.session.zeros(
          type,
          shape.map((size) => of(input, size)),
        ),
      ]),
    )
  }

  copies(states: Tensors): Tensors {
    return Object.fromEntries(Object.entries(states).map(([name, tensor]) => [name, this.session.copy(tensor)]))
  }

  /** Copies of states that a caller gave. Throws RangeError `ERR_GRAPH_STATE`; TypeError `ERR_GRAPH_INPUT`. */
  checkedStates(states: GraphFeeds, rows?: number): Tensors {
    checkArguments('restore a stream', { state: states }, { state: NAMED })
    const checked: Record<string, GraphTensor> = {}
    for (const { input, type, shape } of this.states) {
      if (states[input] === undefined) throw stateError(input, 'a state must have all states of the graph')
      const value = this.#rowsOf({ name: input, type: type as GraphValue['type'], shape }, rows)
      checked[input] = this.session.copy(this.session.fed('restore a stream', value, states[input]))
    }
    return checked
  }

  #fed(
    action: string,
    feeds: GraphFeeds,
    mayFeed: readonly GraphState[],
    rows?: number,
    inputs = this.inputs,
  ): Tensors {
    checkArguments(action, { feeds }, { feeds: NAMED })
    const fed: Record<string, GraphTensor> = {}
    for (const value of inputs) {
      const given = feeds[value.name]
      if (given === undefined) throw inputError(action, value.name, 'must be fed', inputs)
      fed[value.name] = this.session.fed(action, this.#rowsOf(value, rows), given)
    }
    const names = Object.keys(feeds)
    if (names.length === inputs.length) return fed
    for (const name of names) {
      if (Object.hasOwn(fed, name)) continue
      const state = mayFeed.find(({ input }) => input === name)
      if (state !== undefined) {
        fed[name] = this.session.fed(
          action,
          { name, type: state.type as GraphValue['type'], shape: state.shape },
          feeds[name],
        )
      } else if (this.#stateNames.has(name)) {
        throw codedTypeError(
          'ERR_GRAPH_STATE',
          `Cannot ${action} as the state ${name} must not be fed: the stream carries it, and restore() sets it`,
          { state: name },
        )
      } else throw inputError(action, name, 'must not be fed', inputs)
    }
    return fed
  }
}

function inputError(action: string, name: string, rule: string, inputs: readonly GraphValue[]) {
  const words = inputs.map((input) => `${input.name} (${input.type} [${input.shape}])`).join(', ')
  return codedTypeError('ERR_GRAPH_INPUT', `Cannot ${action} as the input ${name} ${rule}. Inputs: ${words}`, {
    input: name,
  })
}

function stateError(name: string, rule: string) {
  return codedRangeError('ERR_GRAPH_STATE', `Cannot carry the state ${name} as ${rule}`, { state: name })
}
