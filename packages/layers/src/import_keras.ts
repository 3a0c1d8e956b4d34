import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { type Json, jsonRecord, uniqueKerasName } from '@cudnn-rnn/canonical/rules'
import { openWeightFile, type StoredTensor, type WeightFile, type WeightInput } from '@cudnn-rnn/interop'
import type { Backend } from '@cudnn-rnn/ops'
import { add } from './add.js'
import type { Branch, BranchLayer } from './branch_layer.js'
import { columnFold } from './column_layers.js'
import { concat } from './concat.js'
import { chainOf, type MaskAt, masksOf, notAModel, RECURRENT_CLASSES } from './keras_chain.js'
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
import type { Layer, LayerDefinition } from './layer.js'
import { KERAS_CLASSES } from './layer_table.js'
import { chainPlan } from './model_graph.js'
import { multiply } from './multiply.js'
import { SequentialModel } from './sequential_model.js'
import { timeDistributed } from './time_distributed.js'

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
 * A Keras `Sequential` model, or a functional one of one input and one output with branches, from a `.keras` file, an `.h5` of a
 * whole model or a `model.json` of TensorFlow.js. `docs/layers.md` lists the layers; pictures [time,height,channels] are
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
export async function importKeras(backend: Backend, input: WeightInput): Promise<SequentialModel> {
  const file = await openWeightFile(input)
  try {
    const layers = chainOf(file)
    const variables = new VariablesByName(file)
    const signal = inputOf(file.kerasModel as Json, layers, variables)
    const planned = planOf(layers, signal, variables, file.kerasVersion)
    const networks: Networks = planned.some(needsNetworks) ? await networksIn(file) : new Map()
    const made: Made[] = []
    for (const each of planned) made.push(...(await madeOf(backend, each, networks)))
    if (made.length === 0) throw notAModel(file.path, 'none of its layers computes anything')
    const elements = file.tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0)
    const { isSequence, features } = signal
    const definitions = made.map(({ definition }) => definition)
    const plan = chainPlan(definitions, definitions[0].input ?? { isSequence, features })
    const model = new SequentialModel(
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
      for (const [index, { assign }] of made.entries()) await assign?.(model.layers[index] as Layer)
      return model
    } catch (error) {
      model.dispose()
      throw error
    }
  } finally {
    await file.close()
  }
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
    const planned = layer.branches ? joined(layer, signal, variables, at) : planned1(layer, signal, variables, at)
    signal = planned.output
    return [planned]
  })
}

function needsNetworks({ recurrent, branches = [] }: Planned): boolean {
  return recurrent !== undefined || branches.flat().some(needsNetworks)
}

interface At extends MaskAt {
  readonly version: string | undefined
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

function planned1(layer: FileLayer, input: KerasSignal, variables: VariablesByName, at: At, wrapper?: string): Planned {
  const { className, config, place } = layer
  // Older files group weights by the layers of the model: those of a wrapped one are under its wrapper.
  const group = wrapper ?? config['name']
  const options = new KerasOptions(className, config, group, majorOf(at.version))
  const own = wrapper === undefined ? group : `${wrapper}_${uniqueKerasName(new Map(), className)}`
  const name = typeof own === 'string' && /^[A-Za-z0-9._-]+$/.test(own) ? { name: own } : {}
  const groupName = typeof group === 'string' ? group : ''
  if (RECURRENT_CLASSES.has(className) && wrapper === undefined) {
    return { ...recurrentPlan(options, groupName, name, input, at), layers: [], stored: [] }
  }
  if (className === 'TimeDistributed' && wrapper === undefined) {
    const inner = options.object('layer')
    const innerClass = inner['class_name']
    if (typeof innerClass !== 'string') throw options.wrong('layer', 'a layer')
    options.finish()
    const within = { className: innerClass, config: jsonRecord(inner['config']) ?? {}, place: `${place}/layer` }
    const found = planned1(within, { ...input, isSequence: false }, variables, at, groupName)
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

  constructor({ tensors }: WeightFile) {
    for (const tensor of tensors) {
      this.#numbered.set(tensor.name, tensor)
      const segments = tensor.name.replace(/^model_weights\//, '').split('/')
      const own = segments.pop()?.replace(/:0$/, '') ?? ''
      for (let end = 1; end <= segments.length; end++) {
        const key = `${segments.slice(0, end).join('/')}\0${own}`
        if (!this.#named.has(key)) this.#named.set(key, tensor)
      }
    }
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
