import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { type Backend, type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { type GradientTape, isValue, onTape, Recording, type RowNumbers, type Value } from '@cudnn-rnn/ops/executor'
import { forwardedOf, type LayerInput } from '../forwarded.js'
import { MERGES, type MergeName } from '../kinds/merges.js'
import type { Layer, LayerDefinition, Pass } from '../layer.js'
import type { LayerBuild } from '../layer_build.js'
import { combinedStream, type LayerStream, openStreams } from '../layer_stream.js'
import { featuresOf, type Signal, signalText } from '../signal.js'

/** A value of a graph: of the input or node of that number, inputs first, the output (0) or a final state (from 1). */
export type Ref = readonly [source: number, part: number]

/** A layer that is applied to a value, or values that are merged. */
export type PlanNode =
  | {
      readonly layer: number
      readonly from: Ref
      readonly states?: readonly Ref[] | undefined
      /** Values that it takes beside its input. */
      readonly others?: readonly Ref[] | undefined
    }
  | { readonly merge: MergeName; readonly from: readonly Ref[]; readonly name?: string | undefined }

/** A named input of a model. */
export interface PlanInput {
  readonly name: string
  readonly signal: Signal
}

/** A model before it is built: nodes read values of inputs and of earlier nodes. */
export interface GraphPlan {
  readonly inputs: readonly PlanInput[]
  readonly layers: readonly LayerDefinition[]
  readonly nodes: readonly PlanNode[]
  readonly outputs: readonly { readonly name: string; readonly value: Ref }[]
}

interface GraphResult {
  readonly outputs: readonly Value[]
  readonly states: readonly Value[]
}

/** A layer of the graph that is applied, or a merge. */
export interface GraphNode {
  readonly name: string
  readonly output: Signal
  readonly from: readonly Ref[]
  readonly states: readonly Ref[]
  readonly layer?: Layer
  readonly merge?: MergeName
}

export function chainNodes(count: number, input: Ref, firstSource: number, firstLayer = 0): PlanNode[] {
  return Array.from({ length: count }, (_, k) => {
    return { layer: firstLayer + k, from: k === 0 ? input : ([firstSource + k - 1, 0] as const) }
  })
}

export const CHAIN = { input: 'input', output: 'output' } as const

export function chainPlan(layers: readonly LayerDefinition[], signal: Signal): GraphPlan {
  const nodes = chainNodes(layers.length, [0, 0], 1)
  return {
    inputs: [{ name: CHAIN.input, signal }],
    layers,
    nodes,
    outputs: [{ name: CHAIN.output, value: [layers.length, 0] }],
  }
}

/** Whether each layer is applied to the output of the one before, from the input to the output. */
export function isChain({ inputs, nodes, outputs }: GraphPlan): boolean {
  const isNext = (node: PlanNode, at: number) =>
    'layer' in node &&
    node.layer === at &&
    node.from[0] === at &&
    node.from[1] === 0 &&
    !(node.states?.length || node.others?.length)
  const [{ value }, ...others] = outputs
  const isWhole = value[0] === nodes.length && value[1] === 0 && inputs.length === 1 && others.length === 0
  return isWhole && nodes.every(isNext)
}

/** Layers that are applied to values, in an order in which each reads earlier ones. A chain is one, and so is a layer of branches. */
export class ModelGraph {
  readonly inputs: readonly PlanInput[]
  readonly layers: readonly Layer[]
  readonly nodes: readonly GraphNode[]
  readonly outputs: readonly { readonly name: string; readonly value: Ref; readonly signal: Signal }[]
  readonly #backend: Backend
  /** How often each input and each output of a node is read. */
  readonly #uses: readonly number[]
  /** The nodes that read it. */
  readonly #readers: readonly (readonly number[])[]
  /** Nodes whose final states are values of the graph. */
  readonly readsStates: readonly boolean[]
  /** Layers one behind the other, as `sequential` makes them. */
  readonly isChain: boolean

  /**
   * Builds the layers in the order of the nodes, each for the value that it takes. If one does not fit, the layers already built are
   * disposed.
   *
   * @param mergeName the name of a merge, of the one that was given and one to begin with
   * @throws RangeError `ERR_LAYERS_DO_NOT_FIT`, naming both layers and their shapes
   */
  constructor(
    plan: GraphPlan,
    build: LayerBuild,
    mergeName = (given: string | undefined, base: string) => build.nameOf(given, base),
  ) {
    const { inputs, layers, nodes, outputs } = plan
    this.isChain = isChain(plan) && inputs[0].name === CHAIN.input && outputs[0].name === CHAIN.output
    this.inputs = inputs
    this.#backend = build.backend
    build.reserve([...layers.flatMap(namesIn), ...nodes.map((node) => ('merge' in node ? node.name : undefined))])
    const built = new Map<number, Layer>()
    const made: GraphNode[] = []
    this.nodes = made
    try {
      for (const node of nodes) {
        if ('merge' in node) {
          const name = mergeName(node.name, MERGES[node.merge].base)
          made.push({ ...node, name, output: this.#merged(node.merge, name, node.from), states: [] })
          continue
        }
        const { states = [], others = [] } = node
        const from = [node.from, ...others]
        const layer = built.get(node.layer) ?? this.#built(layers[node.layer], from, build)
        if (built.has(node.layer)) this.#checkShared(layer, from)
        built.set(node.layer, layer)
        made.push({ name: layer.name, output: layer.output, layer, from, states })
        this.#checkStates(layer, states)
      }
      this.layers = [...built.values()]
      this.outputs = outputs.map((each) => ({ ...each, signal: this.signalOf(each.value) }))
    } catch (error) {
      for (const layer of built.values()) layer.dispose()
      throw error
    }
    const readers = [...inputs, ...made].map((): number[] => [])
    const read = made.flatMap(({ from, states }, at) => [...from, ...states].map((value) => ({ value, at })))
    for (const { value, at } of read) if (value[1] === 0) readers[value[0]].push(at)
    this.#readers = readers
    const uses = readers.map(({ length }) => length)
    for (const { value } of outputs) if (value[1] === 0) uses[value[0]]++
    this.#uses = uses
    const ends = [...read, ...outputs].filter(({ value }) => value[1] > 0)
    const sources = new Set(ends.map(({ value }) => value[0] - inputs.length))
    this.readsStates = made.map((_, at) => sources.has(at))
  }

  signalOf([source, part]: Ref): Signal {
    const node = this.nodes[source - this.inputs.length]
    if (part === 0) return node?.output ?? this.inputs[source].signal
    return { isSequence: false, features: stateSizes(node.layer as Layer)[part - 1] }
  }

  readersOf(at: number): readonly number[] {
    return this.#readers[this.inputs.length + at]
  }

  /** Two layers behind a node at most, each of which alone reads the output of the one before, and nothing else. */
  pathFrom(at: number): number[] {
    const path: number[] = []
    for (let source = this.inputs.length + at; path.length < 2; ) {
      const [next] = this.#readers[source]
      if (this.#uses[source] !== 1 || next === undefined) break
      const { layer, from } = this.nodes[next]
      if (layer === undefined || from.length > 1 || from[0][0] !== source) break
      path.push(next)
      source = this.inputs.length + next
    }
    return path
  }

  nameOf([source]: Ref): string {
    return this.nodes[source - this.inputs.length]?.name ?? this.inputs[source].name
  }

  /** The kind of the layer that gives a value. */
  kindOf([source]: Ref): string {
    return this.nodes[source - this.inputs.length]?.layer?.kind ?? 'merge'
  }

  /** A value as text: `lstm`, or `lstm:1` for a state. */
  textOf(value: Ref): string {
    const own = this.nameOf(value)
    return value[1] === 0 ? own : `${own}:${value[1]}`
  }

  /** Layers that begin with the states of the pass. */
  get stateful(): readonly Layer[] {
    return this.nodes.flatMap(({ layer, states }) => (layer === undefined || states.length > 0 ? [] : [layer]))
  }

  /** The lengths of outputs, given the inputs'; null if all rows have all steps. */
  outputLengths(lengths: readonly (Int32Array | null)[]): (Int32Array | null)[] {
    const all: (Int32Array | null)[] = [...lengths]
    for (const { layer, from } of this.nodes) {
      const taken = from.map(([source]) => all[source])
      const own = layer === undefined ? lengthsOf(taken) : taken[0]
      all.push(own && (layer?.outputLengths(own, taken.slice(1)) ?? own))
    }
    return this.outputs.map(({ value: [source, part] }) => (part === 0 ? all[source] : null))
  }

  /** One pass. A tensor between nodes is freed as soon as neither a node nor a gradient reads it. */
  async forward(
    t: GradientTape,
    inputs: readonly LayerInput[],
    lengths: readonly (Int32Array | null)[],
    pass: Pass,
  ): Promise<GraphResult> {
    // The gradients of several layers by an input are one sum; class ids have none, and are read on the host.
    const values: LayerInput[] = inputs.map((input, k) => {
      if (this.#uses[k] < 2 || this.inputs[k].signal.features === null) return input
      const value = t.value(input)
      return t.recording.alias(value, value.isDifferentiated, t.made)
    })
    const ends: (readonly Value[])[] = inputs.map(() => [])
    const all: (Int32Array | null)[] = [...lengths]
    const left = new Map<LayerInput, number>()
    const kept: Value[] = []
    let used = 0
    const valueAt = ([source, part]: Ref) => (part === 0 ? values[source] : ends[source][part - 1])
    for (const [at, { layer, merge, from, states, output }] of this.nodes.entries()) {
      const operands = from.map(valueAt)
      const taken = from.map(([source]) => all[source])
      let own = layer === undefined ? lengthsOf(taken) : taken[0]
      if (layer === undefined) {
        this.#checkLengths(at, taken)
        values.push(t.scope((inner) => joined(inner, merge as MergeName, operands)))
        ends.push([])
      } else {
        const begin = used
        if (states.length === 0) used += layer.stateCount
        const isRead = this.readsStates[at]
        const given =
          states.length > 0 ? joinedStates(t, layer, states.map(valueAt)) : (pass.states?.slice(begin, used) ?? null)
        const keepsStates = pass.keepsStates || isRead
        const others = operands.slice(1).map((x, k) => ({ x, lengths: taken[k + 1] }))
        const isLinked = isRead || states.length > 0
        const passed: Pass = { lengths: own, states: given, keepsStates, isStream: pass.isStream, isLinked, others }
        const result = t.scope((inner) => layer.forward(inner, operands[0], passed))
        const forwarded = forwardedOf(t, result instanceof Promise ? await result : result)
        values.push(forwarded.output)
        const finals = forwarded.states ?? []
        if (pass.keepsStates && states.length === 0) kept.push(...finals)
        ends.push(isRead ? partedStates(t, layer, finals) : [])
        own = forwarded.lengths ?? own
        if (own !== null) own = layer.outputLengths(own, taken.slice(1))
      }
      all.push(output.isSequence ? own : null)
      const y = values[values.length - 1]
      left.set(y, (left.get(y) ?? 0) + this.#uses[inputs.length + at])
      for (const [k, [source, part]] of from.entries()) {
        if (part !== 0 || source < inputs.length) continue
        const rest = (left.get(operands[k]) ?? 0) - 1
        left.set(operands[k], rest)
        if (rest === 0 && isValue(operands[k])) t.free(operands[k])
      }
    }
    return { outputs: this.outputs.map(({ value }) => t.value(valueAt(value))), states: kept }
  }

  /** Throws RangeError `ERR_BIDIRECTIONAL_STREAM` for a layer that reads sequences from their end, too. */
  checkForward(action: string): void {
    const backward = this.nodes.find(({ layer }) => layer?.output.reversedFrom !== undefined)?.layer
    if (backward === undefined) return
    const message = `Cannot ${action} as every layer must read sequences from their beginning: ${backward.name} (${backward.kind}) reads them from their end, too. predict() computes whole sequences`
    throw codedRangeError('ERR_BIDIRECTIONAL_STREAM', message, { layer: backward.name })
  }

  /**
   * Steps of streams through the graph.
   *
   * @throws RangeError `ERR_BIDIRECTIONAL_STREAM`; `ERR_NO_STREAM` for a layer that needs the whole sequence, or whose states are values of the graph
   */
  openStream(batch: number): GraphStream {
    const linked = this.nodes.find(({ states }, at) => states.length > 0 || this.readsStates[at])
    if (linked !== undefined) {
      throw codedRangeError(
        'ERR_NO_STREAM',
        `Cannot open a stream as layer ${linked.name} takes or gives states at the ends of whole sequences: use predict()`,
        { layer: linked.name },
      )
    }
    this.checkForward('open a stream')
    const layers = this.nodes.flatMap(({ layer }) => layer ?? [])
    const streams = openStreams(layers, (layer) => layer.openStream(batch))
    const { step, ...rest } = combinedStream(streams, async () => undefined as never)
    return { ...rest, step: (inputs, rows) => this.#step(streams.values(), inputs, rows) }
  }

  async #step(
    streams: Iterator<LayerStream>,
    inputs: readonly TensorLike[],
    rows: RowNumbers | undefined,
  ): Promise<readonly TensorLike[]> {
    const values: TensorLike[] = [...inputs]
    const left = new Map<TensorLike, number>()
    const letGo = (value: TensorLike, count: number) => {
      left.set(value, (left.get(value) ?? 0) + count)
      if (left.get(value) === 0 && isBackendTensor(value) && !inputs.includes(value)) value.dispose()
    }
    try {
      for (const [at, { layer, merge, from }] of this.nodes.entries()) {
        const operands = from.map(([source]) => values[source])
        const y =
          layer === undefined
            ? await this.#merge(merge as MergeName, operands)
            : await streams.next().value.step(operands[0], rows)
        values.push(y)
        letGo(y, this.#uses[inputs.length + at])
        for (const operand of operands) letGo(operand, -1)
      }
      return this.outputs.map(({ value: [source] }) => values[source])
    } catch (error) {
      for (const [value, count] of left) {
        if (count > 0 && isBackendTensor(value) && !inputs.includes(value)) value.dispose()
      }
      throw error
    }
  }

  #merge(merge: MergeName, operands: readonly TensorLike[]): Promise<BackendTensor> {
    return onTape(new Recording(this.#backend, [], false), async (t) => {
      const [y] = t.recording.take([joined(t, merge, operands)])
      return y
    })
  }

  #built(definition: LayerDefinition, [from, ...more]: readonly Ref[], build: LayerBuild): Layer {
    const input = this.signalOf(from as Ref)
    const { others: most = 0 } = definition
    if (more.length > most) {
      throw codedRangeError(
        'ERR_LAYERS_DO_NOT_FIT',
        `Cannot build the model as ${definition.kind} takes ${most} values beside its input: current number is ${more.length}`,
        { layer: definition.kind, expected: most, actual: more.length },
      )
    }
    try {
      return definition.build(
        input,
        build,
        more.map((each) => this.signalOf(each)),
      )
    } catch (cause) {
      const { code, expected, layer } = cause as { code?: unknown; expected?: string; layer?: string }
      const before = this.nodes[(from as Ref)[0] - this.inputs.length]
      if (code !== 'ERR_LAYERS_DO_NOT_FIT' || before === undefined || 'before' in (cause as object)) throw cause
      throw codedRangeError(
        'ERR_LAYERS_DO_NOT_FIT',
        `Cannot build the model as ${layer} takes ${expected}: ${before.name} (${kindOf(before)}) before it gives ${signalText(input)}`,
        { layer, expected, before: before.name, actual: signalText(input), cause },
      )
    }
  }

  /** A layer that is applied again has its sizes. */
  #checkShared({ name, kind, input, others }: Layer, from: readonly Ref[]): void {
    const sizes = [input, ...others]
    const isSame = (a: Signal | undefined, b: Signal) => a?.isSequence === b.isSequence && a.features === b.features
    const wrong = from.find((each, k) => !isSame(sizes[k], this.signalOf(each))) ?? from[sizes.length]
    if (wrong === undefined && from.length === sizes.length) return
    const [before, signal] = [this.nameOf(wrong ?? from[0]), signalText(this.signalOf(wrong ?? from[0]))]
    const expected = sizes.map(signalText).join(', ')
    throw codedRangeError(
      'ERR_LAYERS_DO_NOT_FIT',
      `Cannot build the model as ${name} (${kind}) takes ${expected}, to which it was applied first: ${before} before it gives ${signal}`,
      { layer: name, expected, before, actual: signal },
    )
  }

  #checkStates(layer: Layer, states: readonly Ref[]): void {
    if (states.length === 0) return
    const sizes = stateSizes(layer)
    const signals = states.map((each) => this.signalOf(each))
    const wrong = signals.findIndex(({ isSequence, features }, k) => isSequence || features !== sizes[k])
    if (wrong === -1 && sizes.length === states.length) return
    const expected = `${sizes.length} first states ${sizes.map((size) => `[B,${size}]`).join(', ')}`
    const actual = signals.map(signalText).join(', ')
    const before = states.map((each) => this.nameOf(each)).join(', ')
    throw codedRangeError(
      'ERR_LAYERS_DO_NOT_FIT',
      `Cannot build the model as ${layer.name} (${layer.kind}) takes ${expected}: ${before} give ${actual}`,
      { layer: layer.name, expected, before, actual },
    )
  }

  /** The form of merged values. */
  #merged(merge: MergeName, name: string, from: readonly Ref[]): Signal {
    const signals = from.map((each) => this.signalOf(each))
    const { keras, features, rule } = MERGES[merge]
    const [first] = signals
    const refuse = (rule: string, other: number) =>
      codedRangeError(
        'ERR_LAYERS_DO_NOT_FIT',
        `Cannot build ${name} (${merge}) as ${rule}: ${this.nameOf(from[0])} gives ${signalText(first)}, ${this.nameOf(from[other])} gives ${signalText(signals[other])}`,
        { layer: name, before: this.nameOf(from[0]), expected: signalText(first), actual: signalText(signals[other]) },
      )
    const ids = signals.findIndex((signal) => signal.features === null)
    if (ids !== -1) throw refuse(`${keras} takes numbers`, ids)
    const other = signals.findIndex(({ isSequence }) => isSequence !== first.isSequence)
    if (other !== -1) throw refuse('all of its operands must be sequences, or none', other)
    const columns = signals.map(featuresOf)
    const width = features(columns)
    if (width !== undefined) return { isSequence: first.isSequence, features: width }
    throw refuse(
      rule,
      columns.findIndex((count) => count !== columns[0]),
    )
  }

  #checkLengths(at: number, lengths: readonly (Int32Array | null)[]): void {
    const [first, ...others] = lengths.filter((each) => each !== null)
    if (first === undefined || others.every((each) => each === first || String(each) === String(first))) return
    throw codedRangeError(
      'ERR_SEQUENCE_LENGTHS',
      `Cannot call ${this.nodes[at].name} as its operands must have equal lengths: current lengths are [${first}] and [${others.find((each) => String(each) !== String(first))}]`,
    )
  }
}

/** Streams through a graph. */
export interface GraphStream extends Omit<LayerStream, 'step'> {
  /** The outputs of a step, given the inputs. */
  readonly step: (inputs: readonly TensorLike[], rows?: RowNumbers) => Promise<readonly TensorLike[]>
}

export function kindOf({ layer, merge }: GraphNode): string {
  return layer?.kind ?? String(merge)
}

function joined(t: GradientTape, merge: MergeName, operands: readonly LayerInput[]): Value {
  const values = operands.map((operand) => t.value(operand))
  return MERGES[merge].join(t, values)
}

/** Names that users gave to a layer and to those in its branches. */
function namesIn({ name, config = {} }: Partial<LayerDefinition>): (string | undefined)[] {
  const within = ['branches', 'layers', 'layer'].flatMap((part) => config[part] ?? [])
  return [name, ...(within.flat() as unknown as LayerDefinition[]).flatMap(namesIn)]
}

/** Lengths that operands have in common: of the first that has some. */
function lengthsOf(lengths: readonly (Int32Array | null)[]): Int32Array | null {
  return lengths.find((each) => each !== null) ?? null
}

/**
 * The columns of the states of a layer as values [B,H] of a graph: of each layer and direction of a network in turn, h and then c of
 * an LSTM.
 */
export function stateSizes(layer: Layer): number[] {
  const shapes = layer.stateShapes(1)
  return Array.from({ length: partsOf(shapes[0]) }, () => shapes.map((shape) => shape[shape.length - 1])).flat()
}

/** Layers and directions that one tensor of state holds. */
function partsOf(shape: readonly number[] = []): number {
  return shape.length === 3 ? shape[0] : 1
}

function partedStates(t: GradientTape, layer: Layer, states: readonly Value[]): Value[] {
  const shapes = layer.stateShapes(1)
  const parts = states.map((state, k) => (shapes[k].length === 3 ? t.unstack(state) : [state]))
  return Array.from({ length: partsOf(shapes[0]) }, (_, n) => parts.map((part) => part[n])).flat()
}

function joinedStates(t: GradientTape, layer: Layer, values: readonly LayerInput[]): LayerInput[] {
  const shapes = layer.stateShapes(1)
  return shapes.map((shape, k) => {
    if (shape.length !== 3) return values[k]
    return t.stack(Array.from({ length: shape[0] }, (_, n) => values[n * shapes.length + k]))
  })
}
