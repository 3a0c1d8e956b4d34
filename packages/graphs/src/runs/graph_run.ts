import { checkArguments, codedRangeError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { GraphState, StatefulGraph } from '../find_states.js'
import type { GraphValue } from '../fold/fold_graph.js'
import type { Size } from '../fold/open_sizes.js'
import { type GraphFeeds, type GraphResults, misfit, NAMED, type RuntimeSession, type Tensors } from '../runtime.js'

/** Runs of one session with the states of callers. */
export class GraphRun {
  readonly path: string
  readonly inputs: readonly GraphValue[]
  readonly outputs: readonly GraphValue[]
  readonly states: readonly GraphState[]
  /** The inputs that are states. */
  readonly stateValues: readonly GraphValue[]
  readonly session: RuntimeSession
  readonly #batch: ReadonlySet<Size>
  readonly #outputNames: readonly string[]

  constructor({ graph, states }: StatefulGraph, session: RuntimeSession) {
    this.path = graph.file.path
    this.states = states
    this.stateValues = states.map(({ input, type, shape }) => ({ name: input, type, shape }))
    this.session = session
    this.#batch = graph.sizes.batch
    const isState = new Set(states.flatMap(({ input, output }) => [`in ${input}`, `out ${output}`]))
    this.inputs = graph.inputs.filter(({ name }) => !isState.has(`in ${name}`))
    this.outputs = graph.outputs.filter(({ name }) => !isState.has(`out ${name}`))
    this.#outputNames = this.outputs.map(({ name }) => name)
  }

  /** One run of a caller without a stream: states of the file that are not fed are zeros. */
  async once(feeds: GraphFeeds): Promise<GraphResults> {
    const own = this.states.filter(({ found }) => found !== 'exposed')
    const isOwn = new Set(own.map(({ input }) => input))
    const mayFeed = this.stateValues.filter(({ name }) => isOwn.has(name))
    const fed = this.fed('run a graph', feeds, this.inputs, mayFeed)
    const states = own.map(({ output }) => output)
    return this.session.run({ ...this.zeroStates(fed), ...fed }, [...this.#outputNames, ...states])
  }

  /**
   * The tensors that a caller gave for all of `inputs`, and for some of `mayFeed`.
   *
   * @throws TypeError `ERR_GRAPH_INPUT`, `ERR_GRAPH_STATE`
   */
  fed(action: string, feeds: GraphFeeds, inputs = this.inputs, mayFeed: readonly GraphValue[] = []): Tensors {
    checkArguments(action, { feeds }, { feeds: NAMED })
    const wrong = (name: string, rule: string) => {
      const words = inputs.map(({ name, type, shape }) => `${name} (${type} [${shape}])`).join(', ')
      const message = `Cannot ${action} as the input ${name} ${rule}. Inputs: ${words}`
      return codedTypeError('ERR_GRAPH_INPUT', message, { input: name })
    }
    const missing = inputs.find(({ name }) => feeds[name] === undefined)
    if (missing !== undefined) throw wrong(missing.name, 'must be fed')
    const given = [...inputs, ...mayFeed].filter(({ name }) => feeds[name] !== undefined)
    const fed = given.map((value) => [value.name, this.session.fed(action, value, feeds[value.name])] as const)
    const known = new Set(given.map(({ name }) => name))
    const other = Object.keys(feeds).find((name) => !known.has(name))
    if (other === undefined) return Object.fromEntries(fed)
    if (this.states.every(({ input }) => input !== other)) throw wrong(other, 'must not be fed')
    const message = `Cannot ${action} as the state ${other} must not be fed: the stream carries it, and restore() sets it`
    throw codedTypeError('ERR_GRAPH_STATE', message, { state: other })
  }

  /** Whether a size is the number of rows of the batch. */
  isBatch(size: Size): boolean {
    return this.#batch.has(size)
  }

  /** Values of so many rows; undefined for any number. */
  withRows(values: readonly GraphValue[], rows: number | undefined): readonly GraphValue[] {
    if (rows === undefined) return values
    return values.map((value) => ({ ...value, shape: value.shape.map((size) => (this.isBatch(size) ? rows : size)) }))
  }

  async step(fed: Tensors, before: Tensors): Promise<{ results: GraphResults; states: Tensors }> {
    const names = this.#outputNames
    const all = await this.session.run({ ...before, ...fed }, [...names, ...this.states.map(({ output }) => output)])
    const tensor = (name: string) => {
      if (all[name] !== undefined) return all[name]
      throw stateError(name, 'ONNX Runtime must give it out')
    }
    const states = this.states.map(({ input, output }) => {
      const made = tensor(output)
      const wrong = misfit(before[input]?.dims ?? [], made.dims)
      if (wrong === undefined) return [input, made] as const
      throw stateError(input, `the output ${output} must have its shape: ${wrong}`)
    })
    const results = Object.fromEntries(names.map((name) => [name, tensor(name)] as const))
    return { results, states: Object.fromEntries(states) }
  }

  /** The numbers of open sizes by their names; the name `batch` has the number of rows. */
  openSizes(fed: Tensors): ReadonlyMap<string, number> {
    const sizes = new Map<string, number>()
    for (const { name, shape } of this.inputs) {
      for (const [axis, size] of shape.entries()) {
        const given = fed[name]?.dims[axis]
        if (typeof size === 'string' && given !== undefined) sizes.set(this.isBatch(size) ? 'batch' : size, given)
      }
    }
    return sizes
  }

  /** Zeros for each state, of as many rows as the feeds have, of one where there are none. */
  zeroStates(fed: Tensors): Tensors {
    const sizes = this.openSizes(fed)
    const of = (state: string, size: Size) => {
      const isRows = this.isBatch(size) || size === 'batch'
      const known = typeof size === 'number' ? size : isRows ? (sizes.get('batch') ?? 1) : sizes.get(size)
      if (known !== undefined) return known
      throw stateError(state, `its size ${size} must follow from an input: fix it by the option fixed`)
    }
    const zeros = this.stateValues.map(({ name, type, shape }) => {
      const sizes = shape.map((size) => of(name, size))
      return [name, this.session.zeros(type, sizes)] as const
    })
    return Object.fromEntries(zeros)
  }

  /** Copies of states that a caller gave. Throws RangeError `ERR_GRAPH_STATE`; TypeError `ERR_GRAPH_INPUT`. */
  checkedStates(states: GraphFeeds, rows?: number): Tensors {
    const action = 'restore a stream'
    checkArguments(action, { state: states }, { state: NAMED })
    const checked = this.withRows(this.stateValues, rows).map((value) => {
      if (states[value.name] === undefined) throw stateError(value.name, 'a state must have all states of the graph')
      return [value.name, this.session.copy(this.session.fed(action, value, states[value.name]))] as const
    })
    return Object.fromEntries(checked)
  }
}

function stateError(name: string, rule: string) {
  return codedRangeError('ERR_GRAPH_STATE', `Cannot carry the state ${name} as ${rule}`, { state: name })
}
