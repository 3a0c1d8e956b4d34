import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { type Json, jsonRecord, uniqueKerasName } from '@cudnn-rnn/canonical/rules'
import { openWeightFile, type StoredTensor, type WeightFile, type WeightInput } from '@cudnn-rnn/interop'
import type { Backend } from '@cudnn-rnn/ops'
import { add } from '../kinds/add.js'
import type { Branch, BranchLayer } from '../kinds/branch_layer.js'
import { networkOrder } from '../kinds/cell_layer.js'
import { columnFold } from '../kinds/column_layers.js'
import { concat } from '../kinds/concat.js'
import {
  chainOf,
  type FileCall,
  type FileGraph,
  type FileValue,
  graphOf,
  labelOf,
  type MaskAt,
  MERGE_CLASSES,
  masksOf,
  masksOfGraph,
  notAModel,
  RECURRENT_CLASSES,
} from './keras_chain.js'
import { NESTED } from './keras_convolutions.js'
import type { FileLayer } from './keras_graph.js'
import { KerasOptions, unknownLayer } from './keras_options.js'
import {
  assignAll,
  type Made,
  type Networks,
  networksIn,
  type RecurrentPlan,
  recurrentLayers,
  recurrentPlan,
} from './keras_recurrent.js'
import {
  columnsOf,
  type Floats,
  type KerasSignal,
  type KerasVariable,
  type LayerAt,
  type OwnOptions,
  weightsOf,
} from './keras_row.js'
import type { Layer, LayerDefinition } from '../layer.js'
import { KERAS_CLASSES } from '../layer_table.js'
import { NAME } from '../layer_build.js'
import { MERGES, type MergeName } from '../kinds/merges.js'
import { chainPlan, type GraphPlan, type PlanNode, type Ref } from '../model/model_graph.js'
import { multiply } from '../kinds/multiply.js'
import { LayersModel } from '../model/layers_model.js'
import { timeDistributed } from '../kinds/time_distributed.js'

const LAYERS = [...KERAS_CLASSES.keys(), ...RECURRENT_CLASSES, 'TimeDistributed', 'InputLayer']

/** A layer that is checked, before anything is read. */
interface Planned {
  readonly output: KerasSignal
  /** The values of the layers' variables in their order, from those of `stored`. Default: these. */
  readonly values?: ((stored: readonly Floats[]) => readonly Floats[]) | undefined
  /** For a recurrent layer, made of its network. */
  readonly recurrent?: RecurrentPlan
  /** The branches of a layer that joins them. */
  readonly branches?: readonly (readonly Planned[])[]
  /** Default `concat`. */
  readonly join?: (branches: readonly Branch[]) => LayerDefinition
  readonly layers: readonly LayerDefinition[]
  readonly stored: readonly StoredTensor[]
}

/**
 * A Keras `Sequential` model, or a functional one with its named inputs and outputs, shared layers and states, from a `.keras` file,
 * an `.h5` of a whole model or a `model.json` of TensorFlow.js. `docs/layers.md` lists the layers; pictures [time,height,channels] are
 * sequences of their columns, [T,B,height·channels].
 *
 * Inputs are time-major here. Masks are Keras': masked steps may be anywhere in a row, at its end if the model gives sequences.
 * Everything is compared with the file before a tensor is read; memory is bounded by the size of the file.
 *
 * @param input as `importWeights` takes it: a path, bytes or a File.
 * @throws RangeError `ERR_UNKNOWN_LAYER` for a layer or an option that is unknown here, naming it; `ERR_NOT_A_MODEL` for a file
 *   that does not describe such a model; WeightFileError
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { importKeras } from '@cudnn-rnn/rnn/layers'
 *
 * // A file of keras.Sequential with a GRU and a dense layer.
 * const backend = await openBackend('reference')
 * const model = await importKeras(backend, '../fixtures/interop/guide/sine.keras')
 * console.log(model.layers.map(({ kind }) => kind)) // ['cudnnGRU', 'dense']
 * ```
 */
export async function importKeras(backend: Backend, input: WeightInput): Promise<LayersModel> {
  const file = await openWeightFile(input)
  try {
    let planned: FilePlan | undefined
    try {
      planned = chainPlanned(file)
    } catch (error) {
      planned = graphPlanned(file, graphUnless(file, error))
    }
    const { parts, hasNetworks } = planned
    const networks: Networks = hasNetworks ? await networksIn(file) : new Map()
    const made: Made[][] = []
    for (const each of parts) made.push(await madeOf(backend, each, networks))
    const plan = planned.planOf(made)
    if (plan.layers.length === 0) throw notAModel(file.path, 'none of its layers computes anything')
    const elements = file.tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0)
    const model = new LayersModel(
      backend,
      plan,
      {},
      {
        // A Keras layer without biases has them here, and scales and merges are matrices.
        elements: 4 * elements + 2 ** 20,
        refusal: (layer) => unknownLayer(layer, 'its variables must be in the file'),
      },
    )
    try {
      for (const [index, { assign }] of made.flat().entries()) await assign?.(model.layers[index] as Layer)
      return model
    } catch (error) {
      model.dispose()
      throw error
    }
  } finally {
    await file.close()
  }
}

/** The graph of a file that is more than a chain of layers; throws `error` where that says more. */
function graphUnless(file: WeightFile, error: unknown): FileGraph {
  let graph: FileGraph | undefined
  try {
    graph = graphOf(file)
  } catch (cause) {
    const isOfLayer = (error as { readonly code?: unknown }).code === 'ERR_UNKNOWN_LAYER'
    throw isOfLayer && (cause as { readonly code?: unknown }).code === 'ERR_NOT_A_MODEL' ? error : cause
  }
  if (graph === undefined) throw error
  return graph
}

/** A file that is checked, before anything but its description is read. */
interface FilePlan {
  readonly parts: readonly Planned[]
  readonly hasNetworks: boolean
  /** The model, of the layers of each part; its layers are all of these, in their order. */
  readonly planOf: (made: readonly (readonly Made[])[]) => GraphPlan
}

/** Layers one behind the other. */
function chainPlanned(file: WeightFile): FilePlan {
  const layers = chainOf(file)
  const variables = new VariablesByName(file)
  const signal = inputOf(file.kerasModel as Json, layers, variables)
  const parts = planOf(layers, signal, variables, file.kerasVersion)
  return {
    parts,
    hasNetworks: parts.some(needsNetworks),
    planOf: (made) => {
      const definitions = made.flat().map(({ definition }) => definition)
      const { isSequence, features } = signal
      return chainPlan(definitions, definitions[0]?.input ?? { isSequence, features })
    },
  }
}

/** A call of a graph. */
interface PlannedCall {
  /** Numbers of its part; of a merge none. */
  readonly part?: number
  readonly merge?: MergeName
  readonly name?: string | undefined
  readonly call: FileCall
}

/** Layers that are applied to each other's values. */
function graphPlanned(file: WeightFile, graph: FileGraph): FilePlan {
  const { calls, inputs, outputs } = graph
  const variables = new VariablesByName(file)
  const version = file.kerasVersion
  const masks = masksOfGraph(graph, !STANDALONE.test(version ?? '1.'))
  const signals: KerasSignal[] = []
  const parts: Planned[] = []
  const known = new Map<FileLayer, number>()
  const planned: PlannedCall[] = []
  // The first place counts if an input is listed twice.
  const places = new Map(inputs.map(({ call }, place): [number, number] => [call, place]).reverse())
  const embedded = calls.filter(({ layer }) => layer.className === 'Embedding')
  const ids = new Set(embedded.map(({ from }) => from[0]?.[0]))
  for (const [at, call] of calls.entries()) {
    const { layer, from, states } = call
    const taken = from.map(([source, tensor]) => {
      if (tensor === 0) return signals[source] as KerasSignal
      return { isSequence: false, features: unitsOf(parts[planned[source]?.part ?? -1], tensor, labelOf(layer)) }
    })
    const [first] = taken
    const options = new KerasOptions(layer.className, layer.config)
    const merge = MERGE_CLASSES.get(layer.className)
    if (layer.className === 'InputLayer') {
      const own = signalOfShape(layer.config['batch_shape'] ?? layer.config['batch_input_shape'], ids.has(at))
      if (own === undefined) throw options.refused('its shape must have a size of its last dimension')
      signals.push(own)
      planned.push({ call })
    } else if (merge !== undefined) {
      signals.push(mergedSignal(merge, options, taken))
      const { name } = layer.config
      planned.push({ call, merge, name: typeof name === 'string' && NAME.test(name) ? name : undefined })
    } else if (first !== undefined) {
      const shared = known.get(layer)
      const own = plannedLayer(layer, first, shared === undefined ? variables : variables.again(), {
        ...(masks[at] as MaskAt),
        version,
        isOfGraph: true,
      })
      if (states.length > 0 && own.recurrent === undefined) throw options.refused('it must take no initial states')
      if (shared !== undefined && !isSame(parts[shared] as Planned, own))
        throw options.refused('all of its calls must have inputs of one form')
      planned.push({ call, part: shared ?? parts.length })
      if (shared === undefined) known.set(layer, parts.push(own) - 1)
      signals.push(own.output)
    }
  }
  const planOf = (made: readonly (readonly Made[])[]): GraphPlan => {
    const layers = made.flat().map(({ definition }) => definition)
    let next = 0
    const starts = made.map(({ length }) => {
      next += length
      return next - length
    })
    const nodes: PlanNode[] = []
    /** The output of each call, and its final states. */
    const refs: Ref[][] = calls.map((_, at) => (places.has(at) ? [[places.get(at) as number, 0]] : []))
    const refOf = ([call, tensor]: FileValue): Ref => {
      const ref = refs[call]?.[tensor]
      if (ref === undefined)
        throw unknownLayer(labelOf(calls[call]?.layer as FileLayer), `it must give tensor ${tensor}`)
      return ref
    }
    for (const [at, { part, merge, name, call }] of planned.entries()) {
      const from = call.from.map(refOf)
      if (merge !== undefined) {
        nodes.push({ merge, name, from })
        refs[at] = [[inputs.length + nodes.length - 1, 0]]
      } else if (part !== undefined) {
        let x = from[0] as Ref
        const ends: Ref[] = []
        for (const [k, { definition }] of (made[part] ?? []).entries()) {
          const layer = (starts[part] as number) + k
          const isNetwork = (definition.states ?? 0) > 0
          const states = isNetwork ? networkOrder(definition, call.states.map(refOf)) : []
          nodes.push({ layer, from: x, states })
          const source = inputs.length + nodes.length - 1
          if (isNetwork) {
            const own = Array.from({ length: definition.states ?? 0 }, (_, state): Ref => [source, state + 1])
            ends.push(...networkOrder(definition, own))
          }
          x = [source, 0]
        }
        if (call.states.length > 0 && ends.length === 0)
          throw unknownLayer(labelOf(call.layer), 'one network must compute it to begin with states')
        refs[at] = [x, ...(returnsState(call.layer) ? ends : [])]
      }
    }
    const signalsOf = inputs.map(({ name, call }) => {
      const { isSequence, features } = signals[call] as KerasSignal
      return { name, signal: { isSequence, features } }
    })
    return {
      inputs: signalsOf,
      layers,
      nodes,
      outputs: outputs.map(({ name, value }) => ({ name, value: refOf(value) })),
    }
  }
  const stray = calls.findIndex(({ layer }, at) => layer.className === 'InputLayer' && !places.has(at))
  if (stray !== -1) throw notAModel(file.path, `${labelOf(calls[stray]?.layer as FileLayer)} must be one of its inputs`)
  return { parts, hasNetworks: parts.some(needsNetworks), planOf }
}

function returnsState({ config }: FileLayer): boolean {
  const inner = jsonRecord(jsonRecord(config['layer'])?.['config'])
  return (inner ?? config)['return_state'] === true
}

/** Columns of a final state. */
function unitsOf(planned: Planned | undefined, tensor: number, reader: string): number {
  if (planned?.recurrent !== undefined && tensor > 0) return planned.recurrent.units
  throw unknownLayer(reader, 'it must take outputs and final states')
}

/** Whether two calls of a layer are of the same layers here. */
function isSame(a: Planned, b: Planned): boolean {
  const text = ({ layers, recurrent, output }: Planned) =>
    JSON.stringify([
      layers.map(({ kind, config }) => [kind, config]),
      recurrent && [recurrent.inputSize, recurrent.holds, recurrent.returnsSequences],
      [output.isSequence, output.features, output.height],
    ])
  return text(a) === text(b)
}

/** The form of merged tensors. Throws RangeError `ERR_UNKNOWN_LAYER` for another axis, and forms that do not fit. */
function mergedSignal(merge: MergeName, options: KerasOptions, signals: readonly KerasSignal[]): KerasSignal {
  const columns = signals.map((signal) => columnsOf(options, signal))
  const [first] = signals as [KerasSignal]
  const last = first.isSequence ? 2 : 1
  if (signals.some(({ isSequence }) => isSequence !== first.isSequence))
    throw options.refused('all of its inputs must be sequences, or none')
  if (merge === 'concat') {
    const axis = options.value('axis') ?? -1
    if (axis !== -1 && axis !== last) throw options.wrong('axis', `-1 or ${last}`)
  }
  if (merge === 'dot') {
    const axes = [options.value('axes')].flat()
    if (first.isSequence || axes.some((axis) => axis !== 1 && axis !== -1)) throw options.wrong('axes', '1, of vectors')
    options.only({ normalize: [false] })
  }
  options.finish()
  const { features, rule, count = signals.length } = MERGES[merge]
  const width = count === signals.length ? features(columns) : undefined
  if (width === undefined) throw options.refused(`${rule}: current numbers are ${columns.join(', ')}`)
  const time = signals.find((signal) => signal.time !== undefined)?.time
  return { isSequence: first.isSequence, features: width, time }
}

/** The form of an input of a shape of the file; undefined if its columns are not known. */
function signalOfShape(shape: unknown, isIds: boolean): KerasSignal | undefined {
  if (!Array.isArray(shape) || shape.length < 1 || shape.length > 4) return undefined
  const isSequence = shape.length >= (isIds ? 2 : 3)
  const steps = isSequence && Number.isSafeInteger(shape[1]) ? { time: shape[1] as number } : {}
  if (isIds) return shape.length > 2 ? undefined : { isSequence, features: null, ...steps }
  const [size, height] = [shape.at(-1), shape.length === 4 ? shape[2] : 1]
  if (shape.length < 2 || !Number.isSafeInteger(size) || !Number.isSafeInteger(height)) return undefined
  return { isSequence, features: size * height, ...(shape.length === 4 && { height }), ...steps }
}

/** The input of the model: as its layers or the model describe it, or by the rows of the first kernel. */
function inputOf(model: Json, layers: readonly FileLayer[], variables: VariablesByName): KerasSignal {
  let first = layers.find(({ className }) => className !== 'InputLayer')
  while (first?.branches !== undefined) first = first.branches.find((branch) => branch.length > 0)?.[0]
  const shapes = [
    ...layers.flatMap(({ config }) => [config['batch_shape'], config['batch_input_shape']]),
    jsonRecord(model['config'])?.['build_input_shape'],
    jsonRecord(model['build_config'])?.['input_shape'],
  ]
  const known = shapes.find(Array.isArray) as readonly unknown[] | undefined
  const isSequence = known === undefined || known.length >= 3
  const steps = Number.isSafeInteger(known?.[1]) ? { time: known?.[1] as number } : {}
  if (first?.className === 'Embedding') return { isSequence: true, features: null, ...steps }
  const size = known?.at(-1)
  if (Number.isSafeInteger(size)) {
    const features = size as number
    if (known?.length !== 4) return { isSequence, features, ...(isSequence && steps) }
    const height = known[2]
    if (Number.isSafeInteger(height))
      return { isSequence, features: features * (height as number), height: height as number, ...steps }
  }
  const name = first?.config['name']
  const own = typeof name === 'string' ? name : ''
  const kernels = ['kernel', 'gamma', 'recurrent_kernel'].map((each) => {
    return first && (variables.find(first.place, own, each, 0) ?? variables.find(`${first.place}/cell`, own, each, 0))
  })
  const shape = kernels.find((each) => each !== undefined)?.shape ?? []
  // Rows are the last axis but one: a kernel of Conv1D has its time before them.
  return { isSequence, features: (shape.length > 1 ? shape.at(-2) : shape[0]) ?? 0 }
}

/** Compares the whole description with the shapes in the file. */
function planOf(
  layers: readonly FileLayer[],
  input: KerasSignal,
  variables: VariablesByName,
  version: string | undefined,
  isBranch = false,
): Planned[] {
  const masks = masksOf(layers, !STANDALONE.test(version ?? '1.'), isBranch)
  let signal = input
  return layers.flatMap((layer, index) => {
    if (layer.className === 'InputLayer') return []
    const at = { ...masks[index], version } as At
    const planned = layer.branches ? joined(layer, signal, variables, at) : plannedLayer(layer, signal, variables, at)
    signal = planned.output
    return [planned]
  })
}

function needsNetworks({ recurrent, branches = [] }: Planned): boolean {
  return recurrent !== undefined || branches.flat().some(needsNetworks)
}

interface At extends MaskAt {
  readonly version: string | undefined
  /** Recurrent layers may give states and take them. */
  readonly isOfGraph?: boolean
}

/** A layer that joins branches: beside each other, or as operands. */
function joined(
  { className, config, branches = [] }: FileLayer,
  input: KerasSignal,
  variables: VariablesByName,
  at: At,
): Planned {
  const options = new KerasOptions(className, config)
  const planned = branches.map((branch) => planOf(branch, input, variables, at.version, true))
  const signals = planned.map((chain) => chain.at(-1)?.output ?? input)
  const [first] = signals as [KerasSignal]
  const columns = signals.map((signal) => columnsOf(options, signal))
  const axis = options.value('axis') ?? -1
  const last = first.isSequence ? 2 : 1
  options.finish()
  if (signals.some(({ isSequence }) => isSequence !== first.isSequence))
    throw options.refused('all of its inputs must be sequences, or none')
  const isBeside = className === 'Concatenate'
  if (isBeside && axis !== -1 && axis !== last) throw options.wrong('axis', `-1 or ${last}`)
  const [all, widest] = [columns.reduce((sum, count) => sum + count, 0), Math.max(...columns)]
  const broken = columns.find((count) => count !== widest && count !== 1)
  if (!isBeside && broken !== undefined)
    throw options.refused(`its inputs must have ${widest} columns or one: current number is ${broken}`)
  const output = { ...first, features: isBeside ? all : widest }
  const parts = { output, stored: [], branches: planned }
  const join = columns.every((count) => count === widest) ? JOINS.get(`${className} ${columns.length}`) : undefined
  if (isBeside || join !== undefined) return { ...parts, layers: [], ...(join !== undefined && { join }) }
  const by = className.toLowerCase() as Parameters<typeof columnFold>[0]['by']
  return { ...parts, layers: [columnFold({ columns, by })] }
}

/** Joins of two outputs with as many columns that are layers here: they can be exported. */
const JOINS: ReadonlyMap<string, NonNullable<Planned['join']>> = new Map([
  ['Add 2', (branches) => add(branches)],
  ['Multiply 2', ([a = [], b = []]) => multiply([a, b])],
])

/** Versions of Keras without TensorFlow's own. */
const STANDALONE = /^(?:[01]\.|2\.[0-3]\.\d+$)/

function plannedLayer(
  layer: FileLayer,
  input: KerasSignal,
  variables: VariablesByName,
  at: At,
  wrapper?: string,
): Planned {
  const { className, config, place } = layer
  // Older files group weights by the layers of the model: those of a wrapped one are under its wrapper.
  const group = wrapper ?? config['name']
  const options = new KerasOptions(className, config, group, majorOf(at.version))
  const own = wrapper === undefined ? group : `${wrapper}_${uniqueKerasName(new Map(), className)}`
  const name = typeof own === 'string' && /^[A-Za-z0-9._-]+$/.test(own) ? { name: own } : {}
  const groupName = typeof group === 'string' ? group : ''
  if (RECURRENT_CLASSES.has(className) && wrapper === undefined) {
    return { ...recurrentPlan(options, groupName, name, input, at, at.isOfGraph), layers: [], stored: [] }
  }
  if (className === 'TimeDistributed' && wrapper === undefined) {
    const inner = options.object('layer')
    const innerClass = inner['class_name']
    if (typeof innerClass !== 'string') throw options.wrong('layer', 'a layer')
    options.finish()
    const within = { className: innerClass, config: jsonRecord(inner['config']) ?? {}, place: `${place}/layer` }
    const found = plannedLayer(within, { ...input, isSequence: false }, variables, at, groupName)
    const isNested = input.height !== undefined && NESTED.has(innerClass)
    const isOfSteps = found.layers.every(
      ({ kind, isStepwise }) => isNested || isStepwise === true || OF_STEPS.has(kind),
    )
    if (!input.isSequence || found.output.isSequence !== isNested || !isOfSteps)
      throw options.refused('it must apply a layer to each step of a sequence')
    return {
      ...found,
      output: { ...found.output, isSequence: true, time: input.time },
      layers: found.layers.map((each) => (each.isStepwise === true ? timeDistributed(each) : each)),
    }
  }
  const isNested = wrapper !== undefined && input.height !== undefined
  const row = (isNested ? NESTED.get(className) : undefined) ?? KERAS_CLASSES.get(className)
  if (row === undefined) {
    throw options.refused(`there must be a layer of its class here. The classes that exist are ${LAYERS.join(', ')}`)
  }
  if (input.height !== undefined && row.pictures !== true) columnsOf(options, input)
  const found: LayerAt = { options, name, input, mask: at.mask, behind: [] }
  let stated: OwnOptions = row.implies ?? {}
  for (const [option, { read }] of Object.entries(row.options ?? {}))
    stated = { ...stated, ...read(found, option, stated) }
  const make = (row as { readonly make: (options: unknown) => LayerDefinition }).make
  const made = row.plan?.(found, stated) ?? { layers: [make({ ...stated, ...name }), ...found.behind] }
  const { output, shapes } = sizesOf(options, made.layers, input)
  const weights = row.weights && made.values === undefined ? weightsOf(row.weights, shapes, found, stated) : undefined
  options.finish()
  const height = 'height' in made ? made.height : row.pictures ? input.height : undefined
  return {
    output: { ...output, height },
    layers: made.layers,
    values: made.values ?? weights?.values,
    stored: variables.take(options.label, place, groupName, made.stored ?? weights?.stored ?? []),
  }
}

/** More steps than a window has. */
const FAR = 1e6

/** The output of layers one behind the other, and the shapes of their variables. */
function sizesOf(options: KerasOptions, layers: readonly LayerDefinition[], input: KerasSignal) {
  let output: KerasSignal = input
  const shapes: (readonly number[])[] = []
  for (const { kind, sizes } of layers) {
    const { isSequence, time, features } = output
    if (features === null && kind !== 'embedding') columnsOf(options, { ...output, height: undefined })
    const own = sizes?.(output)
    if (own === undefined) continue
    shapes.push(...Object.values(own.variables ?? {}).map(([shape]) => shape))
    // A vector has no steps; a layer whose steps do not depend on its input's states their number.
    const before = isSequence ? time : 0
    const lengths = Int32Array.from(before === undefined ? [0, FAR] : [before])
    const [after, other = after] = own.outputLengths?.(lengths) ?? lengths
    output = { ...own.output, time: own.output.isSequence && after === other ? after : undefined }
  }
  return { output, shapes }
}

/** Kinds of layers that compute each step alone and are no `isStepwise` definitions: those that state it when they are built. */
const OF_STEPS = new Set(['stepFunction', 'columnScale', 'columnSlope'])

function majorOf(version: string | undefined): number | undefined {
  const major = Number.parseInt(version ?? '', 10)
  return Number.isNaN(major) ? undefined : major
}

/** The variables of a file by place and number in files of Keras 3, by name in older ones; each belongs to one layer. */
class VariablesByName {
  readonly #numbered = new Map<string, StoredTensor>()
  readonly #named = new Map<string, StoredTensor>()
  readonly #taken = new Map<StoredTensor, string>()
  readonly #file: WeightFile

  constructor(file: WeightFile) {
    this.#file = file
    for (const tensor of file.tensors) {
      this.#numbered.set(tensor.name, tensor)
      const segments = tensor.name.replace(/^model_weights\//, '').split('/')
      const own = segments.pop()?.replace(/:0$/, '') ?? ''
      for (let end = 1; end <= segments.length; end++) {
        const key = `${segments.slice(0, end).join('/')}\0${own}`
        if (!this.#named.has(key)) this.#named.set(key, tensor)
      }
    }
  }

  /** The same variables, for another call of a layer. */
  again(): VariablesByName {
    return new VariablesByName(this.#file)
  }

  /** Throws RangeError `ERR_UNKNOWN_LAYER` unless the file has them, of these shapes, for this layer alone. */
  take(label: string, place: string, name: string, wanted: readonly KerasVariable[]): StoredTensor[] {
    return wanted.map(([own, shape], index) => {
      const numbered = `${place}/vars/${index}`
      const names = [own].flat()
      const tensor = names.map((each) => this.find(place, name, each, index)).find((each) => each !== undefined)
      if (tensor === undefined) {
        throw unknownLayer(label, `its ${own} must be in the file, at ${numbered} or below ${name}`)
      }
      if (tensor.shape.join() !== shape.join()) {
        throw unknownLayer(label, `its ${own} must have shape [${shape}]: current shape is [${tensor.shape}]`)
      }
      const owner = this.#taken.get(tensor)
      if (owner !== undefined) throw unknownLayer(label, `its ${own} must not be that of ${owner}, too`)
      this.#taken.set(tensor, label)
      return tensor
    })
  }

  /** @param own its name, `query/kernel` of a part of the layer */
  find(place: string, name: string, own: string, index: number): StoredTensor | undefined {
    const [last, ...parts] = own.split('/').reverse() as [string, ...string[]]
    const [part] = parts
    if (part === undefined) return this.#numbered.get(`${place}/vars/${index}`) ?? this.#named.get(`${name}\0${last}`)
    const numbered = this.#numbered.get(`${place}/${part}_dense/vars/${last === 'bias' ? 1 : 0}`)
    return (
      numbered ?? this.#named.get(`${name}/${part}\0${last}`) ?? this.#named.get(`${name}/${name}/${part}\0${last}`)
    )
  }
}

async function madeOf(backend: Backend, planned: Planned, networks: Networks): Promise<Made[]> {
  if (planned.recurrent !== undefined) return recurrentLayers(backend, planned.recurrent, networks)
  const { layers, branches, values } = planned
  if (branches !== undefined) {
    const made: Made[][] = []
    for (const branch of branches) {
      made.push((await Promise.all(branch.map((each) => madeOf(backend, each, networks)))).flat())
    }
    const definition = (planned.join ?? concat)(made.map((branch) => branch.map((each) => each.definition)))
    const assign = async (layer: Layer) => {
      for (const [k, branch] of made.entries()) {
        for (const [at, each] of branch.entries())
          await each.assign?.((layer as BranchLayer).branches[k]?.[at] as Layer)
      }
    }
    return [{ definition, assign }, ...layers.map((each) => ({ definition: each }))]
  }
  const stored: Tensor<FloatArray>[] = []
  for (const { shape, read } of planned.stored) stored.push({ data: await read(), shape })
  const built: Layer[] = []
  // Once all of its layers exist.
  const assign = (layer: Layer) => {
    built.push(layer)
    if (built.length === layers.length) assignAll(backend, built, values?.(stored) ?? stored)
  }
  return layers.map((definition) => ({ definition, assign }))
}
