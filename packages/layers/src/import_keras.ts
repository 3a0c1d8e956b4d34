import { type Json, jsonRecord } from '@cudnn-rnn/arguments'
import type { Backend } from '@cudnn-rnn/backend'
import { DTYPES } from '@cudnn-rnn/backend'
import { describeValue, elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import {
  BasicRNNCell,
  type CellState,
  CudnnCompatibleGRUCell,
  GRUBlockCell,
  LSTMBlockCell,
  LSTMCell,
  type RNNCell,
} from '@cudnn-rnn/cells'
import {
  type ImportedCell,
  type ImportedNetwork,
  type ImportedWeights,
  importWeights,
  type OpenWeightFile,
  openWeightFile,
  type StoredTensor,
  type WeightFile,
  type WeightInput,
} from '@cudnn-rnn/interop'
import { rnn } from './cell_layer.js'
import { codedRangeError } from './coded_error.js'
import { concat } from './concat.js'
import { dense } from './dense.js'
import { holdPadding } from './hold_padding.js'
import { KerasOptions, unknownLayer } from './keras_options.js'
import { diagonal, featuresOf, KERAS_ROWS, type KerasVariable, type PlannedLayer } from './keras_rows.js'
import type { Layer, LayerDefinition } from './layer.js'
import type { Padding } from './masked_steps.js'
import { multiply } from './multiply.js'
import { cudnnGRU, cudnnLSTM, cudnnRNNRelu, cudnnRNNTanh, RecurrentLayer } from './recurrent.js'
import { reverse } from './reverse.js'
import { lastStep } from './sequence_pooling.js'
import { SequentialModel } from './sequential_model.js'
import type { Signal } from './signal.js'
import { timeDistributed } from './time_distributed.js'

const RECURRENT = {
  lstm: cudnnLSTM,
  gru: cudnnGRU,
  rnn_relu: cudnnRNNRelu,
  rnn_tanh: cudnnRNNTanh,
} as const

const CELLS = { LSTMBlockCell, LSTMCell, GRUBlockCell, CudnnCompatibleGRUCell, BasicRNNCell } as const

const RECURRENT_CLASSES = new Set(['LSTM', 'GRU', 'SimpleRNN', 'CuDNNLSTM', 'CuDNNGRU', 'Bidirectional', 'RNN'])
const LAYERS = [...KERAS_ROWS.keys(), ...RECURRENT_CLASSES, 'TimeDistributed', 'InputLayer']

/** A layer of the file with its place there. */
interface FileLayer {
  readonly className: string
  readonly config: Json
  /** `layers/dense_1`, where a file of Keras 3 keeps its variables. */
  readonly place: string
}

/** A layer that is checked, before anything is read. */
interface Planned extends Omit<PlannedLayer, 'layers'> {
  /** For a recurrent layer, made of its network. */
  readonly recurrent?: RecurrentPlan
  readonly layers: readonly LayerDefinition[]
  readonly stored: readonly StoredTensor[]
}

interface RecurrentPlan {
  readonly options: KerasOptions
  readonly label: string
  readonly name: { readonly name?: string }
  readonly networkName: string
  readonly inputSize: number
  readonly returnsSequences: boolean
  /** Keras' masked steps repeat the output before them, which the caller may read. */
  readonly holds: boolean
  readonly merge: Merge | undefined
}

/**
 * A Keras `Sequential` model, or a functional one that is a chain, from a `.keras` file, an `.h5` of a whole model or a
 * `model.json` of TensorFlow.js. Its layers may be Embedding, Masking, LSTM, GRU, SimpleRNN, Bidirectional, Dense, Activation,
 * ReLU, Softmax, LayerNormalization, BatchNormalization (its inference, as a dense layer), Conv1D, MaxPooling1D, GlobalAveragePooling1D, GlobalMaxPooling1D, RepeatVector,
 * TimeDistributed, and those that have no effect in inference: the dropouts, GaussianNoise, ActivityRegularization.
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
    const planned = planOf(layers, signal, variables, STANDALONE.test(file.kerasVersion ?? '1.'))
    const weights = planned.some(({ recurrent }) => recurrent !== undefined)
      ? await importWeights(withoutMerges(file))
      : undefined
    const networks = networksOf(weights)
    const made: Made[] = []
    for (const each of planned) made.push(...(await madeOf(backend, each, networks)))
    if (made.length === 0) throw notAModel(file.path, 'none of its layers computes anything')
    const elements = file.tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0)
    const { isSequence, features } = signal
    const given = made[0]?.definition.input === undefined ? { inputSize: features ?? 0, isSequence } : {}
    const definitions = made.map(({ definition }) => definition)
    const model = new SequentialModel(backend, definitions, given, {
      // A Keras layer without biases has them here, and scales and merges are matrices.
      elements: 4 * elements + 2 ** 20,
      refusal: (layer) => unknownLayer(layer, 'its variables must be in the file'),
    })
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

/** A file whose `Bidirectional` layers concatenate, as its networks do: what else they do is a layer here. */
function withoutMerges(file: OpenWeightFile): OpenWeightFile {
  const text = JSON.stringify(file.kerasModel, (key, value) => (key === 'merge_mode' ? 'concat' : value))
  return { ...file, kerasModel: JSON.parse(text) }
}

/** A layer, and the function that writes its variables. */
interface Made {
  readonly definition: LayerDefinition
  readonly assign?: (layer: Layer) => Promise<void> | void
}

/** The layers of the model in order, without its InputLayer. */
function chainOf({ path, format, kerasModel }: WeightFile): FileLayer[] {
  const model = jsonRecord(kerasModel)
  if (model === undefined) {
    const rule = format.startsWith('keras')
      ? 'it holds weights alone: save the whole model'
      : `it is a file of the format ${format}, and whole models are read from Keras' alone. importWeights reads its recurrent networks`
    throw notAModel(path, rule)
  }
  const kind = model['class_name']
  if (kind !== 'Sequential' && kind !== 'Functional' && kind !== 'Model') {
    throw notAModel(
      path,
      `the class of the model must be Sequential or Functional: current class is ${describeValue(kind)}`,
    )
  }
  const config = model['config']
  const listed = Array.isArray(config) ? config : jsonRecord(config)?.['layers']
  if (!Array.isArray(listed)) throw notAModel(path, 'its layers must be a list')
  const records = listed.map((layer) => {
    const record = jsonRecord(layer)
    if (record === undefined) throw notAModel(path, 'every layer must be an object')
    return record
  })
  const places = new Map<string, number>()
  const masks = masksIn(records)
  const computing = records.filter((record) => !masks.has(record['name']))
  const layers = computing.map((record): FileLayer => {
    const className = record['class_name']
    if (typeof className !== 'string') {
      throw notAModel(path, `the class of every layer must be a text: current value is ${describeValue(className)}`)
    }
    const base = snakeCase(className)
    const count = places.get(base) ?? 0
    places.set(base, count + 1)
    const place = `layers/${base}${count === 0 ? '' : `_${count}`}`
    return { className, config: jsonRecord(record['config']) ?? {}, place }
  })
  if (kind !== 'Sequential') checkIsChain(path, computing, masks)
  return layers
}

/** Throws unless each layer is called once, with the output of the one before it. */
function checkIsChain(path: string, layers: readonly Json[], masks: ReadonlySet<unknown>): void {
  for (const [index, layer] of layers.entries()) {
    const calls = layer['inbound_nodes']
    const before = index === 0 ? [] : [layers[index - 1]?.['name']]
    const inputs = Array.isArray(calls) ? calls.map((call) => inputsOf(call, masks)) : []
    if (JSON.stringify(inputs) === JSON.stringify(index === 0 ? inputs.map(() => []) : [before])) continue
    throw notAModel(
      path,
      `a functional model must be one chain: ${describeValue(layer['name'])} (${describeValue(layer['class_name'])}) does not have the output of the layer before it as its one input. By hand: importWeights has its recurrent networks, and concat, add and multiply join branches`,
    )
  }
}

/**
 * Names of the operations with which a functional model of Keras 3 computes the mask of a layer: its input is compared with
 * the value that is masked, and of vectors any element.
 */
function masksIn(records: readonly Json[]): ReadonlySet<unknown> {
  const masks = new Set<unknown>()
  const callOf = (record: Json) => jsonRecord([record['inbound_nodes']].flat()[0])
  const argumentsOf = (record: Json) => [callOf(record)?.['args']].flat()
  const masking = records.flatMap((record) => {
    const config = jsonRecord(record['config']) ?? {}
    if (!makesMask({ className: record['class_name'], config })) return []
    return [[sourceOf(argumentsOf(record)[0]), config['mask_value'] ?? 0]]
  })
  for (const record of records) {
    const [input, value] = argumentsOf(record)
    const source = sourceOf(input)
    const isComparison =
      record['class_name'] === 'NotEqual' && masking.some(([from, masked]) => from === source && masked === value)
    if (isComparison || (record['class_name'] === 'Any' && masks.has(source))) masks.add(record['name'])
  }
  return masks
}

/** The name of the layer that a tensor comes from. */
function sourceOf(tensor: unknown): unknown {
  return [jsonRecord(jsonRecord(tensor)?.['config'])?.['keras_history']].flat()[0]
}

/** Names of the layers whose outputs a call takes; unlike any list of one name if it takes something else. */
function inputsOf(call: unknown, masks: ReadonlySet<unknown>): unknown {
  const { args, kwargs } = jsonRecord(call) ?? {}
  if (Array.isArray(args)) {
    const isPlain = Object.entries(jsonRecord(kwargs) ?? {}).every(
      ([name, value]) => value === null || (name === 'mask' && masks.has(sourceOf(value))) || value === false,
    )
    return isPlain ? args.map(sourceOf) : null
  }
  if (!Array.isArray(call)) return null
  return call.map((each) =>
    Array.isArray(each) && Object.keys(jsonRecord(each[3]) ?? {}).length === 0 ? each[0] : null,
  )
}

/** As `keras.src.utils.naming.to_snake_case`. */
function snakeCase(name: string): string {
  return name
    .replace(/\W+/g, '')
    .replace(/(.)([A-Z][a-z]+)/g, '$1_$2')
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
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
      const tensor = this.find(place, name, own, index)
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

  find(place: string, name: string, own: string, index: number): StoredTensor | undefined {
    return this.#numbered.get(`${place}/vars/${index}`) ?? this.#named.get(`${name}\0${own}`)
  }
}

/** The input of the model: as its layers or the model describe it, or by the rows of the first kernel. */
function inputOf(model: Json, layers: readonly FileLayer[], variables: VariablesByName): Signal {
  const [first] = layers.filter(({ className }) => className !== 'InputLayer')
  const shapes = [
    ...layers.flatMap(({ config }) => [config['batch_shape'], config['batch_input_shape']]),
    jsonRecord(model['config'])?.['build_input_shape'],
    jsonRecord(model['build_config'])?.['input_shape'],
  ]
  const known = shapes.find(Array.isArray) as readonly unknown[] | undefined
  if (first?.className === 'Embedding') return { isSequence: true, features: null }
  const size = known?.at(-1)
  const isSequence = known === undefined || known.length === 3
  if (Number.isSafeInteger(size)) return { isSequence, features: size as number }
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
  input: Signal,
  variables: VariablesByName,
  isStandalone: boolean,
): Planned[] {
  const masks = masksOf(layers, !isStandalone)
  let signal = input
  return layers.flatMap((layer, index) => {
    if (layer.className === 'InputLayer') return []
    const planned = planned1(layer, signal, variables, masks[index])
    signal = planned.output
    return [planned]
  })
}

interface MaskAt {
  readonly mask: Padding | 'none'
  readonly isMasked: boolean
  /** The layer's masked steps are seen, which by default repeat the output before them. */
  readonly holds: boolean
  /** A Bidirectional gives zeros there: that of tf.keras and Keras 3, not that of Keras before 2.4. */
  readonly zeroesSides: boolean
}

/** Versions of Keras without TensorFlow's own. */
const STANDALONE = /^(?:[01]\.|2\.[0-3]\.\d+$)/

function planned1(layer: FileLayer, input: Signal, variables: VariablesByName, at: MaskAt, wrapper?: string): Planned {
  const { className, config, place } = layer
  // Older files group weights by the layers of the model: those of a wrapped one are under its wrapper.
  const group = wrapper ?? config['name']
  const options = new KerasOptions(className, config, group)
  const own = wrapper === undefined ? group : `${wrapper}_${snakeCase(className)}`
  const name = typeof own === 'string' && /^[A-Za-z0-9._-]+$/.test(own) ? { name: own } : {}
  const groupName = typeof group === 'string' ? group : ''
  if (RECURRENT_CLASSES.has(className) && wrapper === undefined) {
    return recurrentPlan(options, groupName, name, input, at)
  }
  if (className === 'TimeDistributed' && wrapper === undefined) {
    const inner = options.object('layer')
    const innerClass = inner['class_name']
    if (typeof innerClass !== 'string') throw options.wrong('layer', 'a layer')
    options.finish()
    const within = { className: innerClass, config: jsonRecord(inner['config']) ?? {}, place: `${place}/layer` }
    const found = planned1(within, { ...input, isSequence: false }, variables, at, groupName)
    if (!input.isSequence || found.output.isSequence)
      throw options.refused('it must apply a layer to each step of a sequence')
    return {
      ...found,
      output: { ...found.output, isSequence: true },
      layers: found.layers.map((each) => timeDistributed(each)),
    }
  }
  const row = KERAS_ROWS.get(className)
  if (row === undefined) {
    throw options.refused(`there must be a layer of its class here. The classes that exist are ${LAYERS.join(', ')}`)
  }
  const planned = row.plan({ options, name, input, mask: at.mask })
  options.finish()
  return { ...planned, stored: variables.take(options.label, place, groupName, planned.variables ?? []) }
}

/** How masks reach layers, by Keras' rules. Throws RangeError `ERR_UNKNOWN_LAYER` for a way that has no counterpart. */
function masksOf(layers: readonly FileLayer[], zeroesSides: boolean): MaskAt[] {
  const none: MaskAt = { mask: 'none', isMasked: false, holds: false, zeroesSides }
  const found = layers.map(() => none)
  const computing = layers.findIndex(({ className }) => className !== 'InputLayer')
  for (const [start, layer] of layers.entries()) {
    if (!makesMask(layer)) continue
    let last = -1
    for (let at = start + 1; at < layers.length; at++) {
      const use = maskUseOf(layers[at] as FileLayer)
      if (use === 'normalizes') {
        throw unknownLayer(
          labelOf(layers[at] as FileLayer),
          `it leaves out the steps that the mask of ${labelOf(layer)} hides`,
        )
      }
      if (use === 'uses') last = at
      const ends = use === 'ends' || (use === 'uses' && !givesSequences(layers[at] as FileLayer))
      if (!ends && use !== 'makes') continue
      if (use === 'ends' && last > start && givesSequences(layers[last] as FileLayer)) {
        throw unknownLayer(
          labelOf(layers[at] as FileLayer),
          `it drops the mask of ${labelOf(layer)}, and takes its padding for steps`,
        )
      }
      break
    }
    if (last === -1) continue
    if (start !== computing) throw unknownLayer(labelOf(layer), 'a layer that masks must be the first of the model')
    const holds = givesSequences(layers[last] as FileLayer)
    found[start] = { ...none, mask: holds ? 'end' : 'anywhere' }
    for (let at = start + 1; at <= last; at++) found[at] = { ...none, isMasked: true, holds: holds && at === last }
  }
  return found
}

function makesMask({ className, config }: { readonly className: unknown; readonly config: Json }): boolean {
  return className === 'Masking' || (className === 'Embedding' && config['mask_zero'] === true)
}

function maskUseOf({ className }: FileLayer) {
  if (RECURRENT_CLASSES.has(className)) return 'uses'
  if (className === 'TimeDistributed') return 'passes'
  return KERAS_ROWS.get(className)?.mask ?? 'ends'
}

function givesSequences({ className, config }: FileLayer): boolean {
  const inner = className === 'Bidirectional' ? jsonRecord(jsonRecord(config['layer'])?.['config']) : config
  return RECURRENT_CLASSES.has(className) && inner?.['return_sequences'] === true
}

function labelOf({ className, config: { name } }: FileLayer): string {
  return `${typeof name === 'string' ? name : className} (${className})`
}

/** Options of recurrent layers and cells that `importWeights` reads, or that have no effect in inference. */
const OF_RECURRENT = [
  ...['units', 'activation', 'recurrent_activation', 'use_bias', 'unit_forget_bias', 'dropout', 'recurrent_dropout'],
  ...[
    'implementation',
    'reset_after',
    'go_backwards',
    'unroll',
    'return_sequences',
    'cell',
    'consume_less',
    'input_dim',
  ],
]

function recurrentPlan(
  outer: KerasOptions,
  networkName: string,
  name: { readonly name?: string },
  input: Signal,
  at: MaskAt,
): Planned {
  const isBidirectional = outer.className === 'Bidirectional'
  if (!input.isSequence) throw outer.refused('its input must be a sequence')
  const inner = isBidirectional ? outer.object('layer') : undefined
  const options =
    inner === undefined ? outer : new KerasOptions(outer.className, jsonRecord(inner['config']) ?? {}, networkName)
  for (const each of new Set([outer, options])) {
    each.only({
      stateful: [false],
      return_state: [false],
      time_major: [false],
      num_constants: [0],
      merge_mode: ['concat', ...Object.keys(MERGES)],
    })
    each.ignore(...OF_RECURRENT, 'backward_layer', 'zero_output_for_mask')
    each.finish()
  }
  if (outer.value('merge_mode') === null && isBidirectional) throw outer.wrong('merge_mode', 'that of one output')
  const cell = jsonRecord(jsonRecord(options.value('cell'))?.['config'])
  const given = cell?.['units'] ?? options.value('units')
  if (!(Number.isSafeInteger(given) && (given as number) >= 1)) throw options.wrong('units', 'an integer >= 1')
  const units = given as number
  const returnsSequences = options.flag('return_sequences', false)
  const goesBackwards = options.flag('go_backwards', false)
  const holds = at.holds && !options.flag('zero_output_for_mask', isBidirectional && at.zeroesSides)
  if (goesBackwards && at.isMasked && returnsSequences)
    throw outer.refused('it must not go backwards over masked steps')
  const plan = {
    options: outer,
    label: outer.label,
    name,
    networkName,
    inputSize: featuresOf(outer, input),
    returnsSequences,
    holds,
    merge: isBidirectional ? MERGES[String(outer.value('merge_mode'))]?.(units) : undefined,
  }
  const sides = isBidirectional && plan.merge === undefined ? 2 : 1
  const output = { isSequence: returnsSequences, features: units * sides }
  return { output, layers: [], stored: [], recurrent: plan }
}

interface Merge {
  readonly definition: LayerDefinition
  /** Of the layer. */
  readonly variables: readonly Tensor<FloatArray>[]
}

/** How a `Bidirectional` makes [...,units] of both its outputs, which are beside each other. */
const MERGES: Readonly<Record<string, (units: number) => Merge>> = {
  sum: (units) => weighted(units, 1, 1),
  ave: (units) => weighted(units, 0.5, 0.5),
  mul: (units) => {
    const sides = [weighted(units, 1, 0), weighted(units, 0, 1)] as const
    return {
      definition: multiply([sides[0].definition, sides[1].definition]),
      variables: sides.flatMap(({ variables }) => variables),
    }
  },
}

/** The sum of two groups of columns, each by its factor. */
function weighted(units: number, ...factors: readonly [number, number]) {
  const kernel = diagonal(factors.map((factor) => new Float64Array(units).fill(factor)))
  return { definition: dense({ units }), variables: [kernel, { data: new Float64Array(units), shape: [units] }] }
}

type Networks = ReadonlyMap<string, ImportedNetwork | ImportedCell>

function networksOf(weights: ImportedWeights | undefined): Networks {
  const all = weights === undefined ? [] : [...weights.networks, ...weights.cells]
  return new Map(all.map((each) => [each.name, each]))
}

async function madeOf(backend: Backend, planned: Planned, networks: Networks): Promise<Made[]> {
  if (planned.recurrent !== undefined) {
    const { merge } = planned.recurrent
    const layers = recurrentLayers(backend, planned.recurrent, networks)
    return merge === undefined ? layers : [...layers, assigning(backend, merge.definition, merge.variables)]
  }
  const stored: Tensor<FloatArray>[] = []
  for (const { shape, read } of planned.stored) stored.push({ data: await read(), shape })
  const values = planned.values?.(stored) ?? stored
  const [first, ...rest] = planned.layers
  if (first === undefined) return []
  return [assigning(backend, first, values), ...rest.map((definition) => ({ definition }))]
}

function assigning(backend: Backend, definition: LayerDefinition, values: readonly Tensor<FloatArray>[]): Made {
  const assign = (layer: Layer) => {
    for (const [index, value] of values.entries()) layer.variables[index]?.assign(ofDtype(backend, value))
  }
  return { definition, assign }
}

function recurrentLayers(backend: Backend, plan: RecurrentPlan, networks: Networks): Made[] {
  const { networkName, name, options, returnsSequences } = plan
  const sides = [networks.get(`${networkName}/forward`), networks.get(`${networkName}/backward`)]
  const network = networks.get(networkName)
  const chain = (each: ImportedNetwork | ImportedCell | undefined, own: { readonly name?: string }) => {
    return chainOfNetwork(backend, plan, each, own)
  }
  if (network !== undefined) return withHeld(chain(network, name), plan)
  if (sides.every((side) => side === undefined)) {
    throw options.refused('one network must compute it: importWeights imports its cells')
  }
  const branches = sides.map((side) => {
    const made = chain(side, {}).map(({ definition }) => definition)
    return side?.reverse === true && returnsSequences ? [...made, reverse()] : made
  })
  if (plan.holds) throw options.refused('its cells must not mask sequences in two directions')
  return [{ definition: concat(branches, name) }]
}

function withHeld(made: Made[], { holds }: RecurrentPlan): Made[] {
  return holds ? [...made, { definition: holdPadding() }] : made
}

/** The layers of a network, in Keras' order of its output: that of reading. */
function chainOfNetwork(
  backend: Backend,
  { options, inputSize: expected, returnsSequences }: RecurrentPlan,
  network: ImportedNetwork | ImportedCell | undefined,
  name: { readonly name?: string },
): Made[] {
  if (network === undefined) throw options.refused('both of its directions must be in the file')
  const inputSize = 'cell' in network ? network.inputSize : network.descriptor.inputSize
  if (inputSize !== expected) {
    throw options.refused(
      `its kernel must have ${expected} rows, as its input has columns: current number is ${inputSize}`,
    )
  }
  const before = network.reverse ? [{ definition: reverse() }] : []
  const after = returnsSequences ? [] : [{ definition: lastStep() }]
  return [
    ...before,
    'cell' in network ? cellLayer(backend, network, name) : modelLayer(backend, network, name),
    ...after,
  ]
}

function cellLayer(backend: Backend, network: ImportedCell, name: { readonly name?: string }): Made {
  const { numUnits, options, variables, inputSize } = network
  const cell = new CELLS[network.cell](numUnits, {
    ...options,
    dtype: backend.dtype,
  } as never) as unknown as RNNCell<CellState>
  const values = Object.entries(variables).map(([own, tensor]) => [own, ofDtype(backend, tensor)] as const)
  cell.setVariables(Object.fromEntries(values))
  return { definition: rnn(cell, { inputSize, ...name }) }
}

function modelLayer(
  backend: Backend,
  { descriptor, canonical }: ImportedNetwork,
  name: { readonly name?: string },
): Made {
  const { cellMode, numLayers, numUnits, direction, inputSize } = descriptor
  const definition = RECURRENT[cellMode]({ numLayers, numUnits, direction, inputSize, ...name })
  const assign = async (layer: Layer) => {
    if (!(layer instanceof RecurrentLayer)) return
    const tensors = [canonical.weights, canonical.biases].map((list) => list.map((each) => ofDtype(backend, each)))
    using params = await layer.model.canonicalToParams(tensors[0] ?? [], tensors[1] ?? [])
    layer.variables[0]?.assign(params)
  }
  return { definition, assign }
}

function ofDtype(backend: Backend, { data, shape }: Tensor<FloatArray>): Tensor<FloatArray> {
  const { array } = DTYPES[backend.dtype]
  return { data: data instanceof array ? data : array.from(data), shape }
}

function notAModel(path: string, rule: string) {
  return codedRangeError('ERR_NOT_A_MODEL', `Cannot import a model as ${path} is none: ${rule}`, { path })
}
