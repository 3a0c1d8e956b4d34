import { describeValue } from '@cudnn-rnn/canonical'
import { type Json, jsonRecord, uniqueKerasName } from '@cudnn-rnn/canonical/rules'
import type { WeightFile } from '@cudnn-rnn/interop'
import { codedRangeError } from '../coded_error.js'
import { chainOfNodes, type FileLayer, type GraphNode } from './keras_graph.js'
import { unknownLayer } from './keras_options.js'
import { KERAS_CLASSES } from '../layer_table.js'
import { MERGES, type MergeName } from '../kinds/merges.js'
import type { Padding } from '../kinds/masked_steps.js'

export const RECURRENT_CLASSES = new Set(['LSTM', 'GRU', 'SimpleRNN', 'CuDNNLSTM', 'CuDNNGRU', 'Bidirectional', 'RNN'])

/** Layers that join several inputs, and the operations of the same names. */
const JOINS = new Set<unknown>(['Add', 'Subtract', 'Multiply', 'Average', 'Maximum', 'Minimum', 'Concatenate'])

/** Layers that merge tensors, by the name here. */
export const MERGE_CLASSES: ReadonlyMap<string, MergeName> = new Map(
  Object.entries(MERGES).map(([name, { keras }]) => [keras, name as MergeName]),
)

/** Arguments that are inputs: of attention, each the same one. */
const SOURCES = new Set(['inputs', 'query', 'key', 'value'])

/** The layers of a file, with their descriptions and the names of operations that compute masks. */
interface Described {
  readonly isSequential: boolean
  readonly config: Json | undefined
  readonly records: readonly Json[]
  readonly layers: FileLayer[]
  readonly masks: ReadonlySet<unknown>
}

type KerasFile = Pick<WeightFile, 'path' | 'format' | 'kerasModel'>

function described({ path, format, kerasModel }: KerasFile): Described {
  const model = jsonRecord(kerasModel)
  if (model === undefined) {
    const rule = format.startsWith('keras')
      ? 'it holds weights alone: save the whole model'
      : `it is a file of the format ${format}. ${format === 'onnx' ? 'openModel(file, { ort }) opens it over ONNX Runtime' : 'loadNetwork makes a model of its recurrent network'}`
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
    const place = `layers/${uniqueKerasName(places, className)}`
    return { className, config: jsonRecord(record['config']) ?? {}, place }
  })
  return { isSequential: kind === 'Sequential', config: jsonRecord(config), records: computing, layers, masks }
}

/** The layers of the model in order, without its InputLayer. */
export function chainOf(file: KerasFile): FileLayer[] {
  const { isSequential, config, records: computing, layers, masks } = described(file)
  if (isSequential) return layers
  const nodes = computing.map((record, index): GraphNode => {
    const layer = layers[index] as FileLayer
    const { sources, options } = callOf(record, masks)
    return { name: record['name'], layer: { ...layer, config: { ...layer.config, ...options } }, sources }
  })
  const outputs = [config?.['output_layers'] ?? [[computing.at(-1)?.['name']]]].flat(2)
  const refuse = (rule: string) => notAModel(file.path, rule)
  const named = outputs.filter((each) => typeof each === 'string')
  if (named.length !== 1) throw refuse(`a functional model must have one output: current number is ${named.length}`)
  const inputs = layers.filter(({ className }) => className === 'InputLayer')
  return [...inputs, ...chainOfNodes(nodes, named[0], refuse)]
}

/** A tensor of a graph: of the call of that number, the first or a later one that it gives. */
export type FileValue = readonly [call: number, tensor: number]

/** A layer of a functional model that is applied. */
export interface FileCall {
  /** The same object in all calls of a layer. */
  readonly layer: FileLayer
  readonly from: readonly FileValue[]
  /** Initial states of a recurrent layer. */
  readonly states: readonly FileValue[]
}

/** A functional model: calls in an order in which each takes tensors of earlier ones. */
export interface FileGraph {
  readonly calls: readonly FileCall[]
  readonly inputs: readonly { readonly name: string; readonly call: number }[]
  readonly outputs: readonly { readonly name: string; readonly value: FileValue }[]
}

/** The graph of a functional model; undefined for a Sequential. Throws RangeError `ERR_NOT_A_MODEL`, `ERR_UNKNOWN_LAYER`. */
export function graphOf(file: KerasFile): FileGraph | undefined {
  const { isSequential, config, records, layers, masks } = described(file)
  if (isSequential) return undefined
  const open = new Map<string, OpenCall>()
  for (const [at, record] of records.entries()) {
    const layer = layers[at] as FileLayer
    const given = [record['inbound_nodes'] ?? []].flat() as readonly unknown[]
    const options = given.map((call) => callTensors(layer, call, masks))
    const [first] = options
    const own = first === undefined ? layer : { ...layer, config: { ...layer.config, ...first.options } }
    if (options.some((each) => JSON.stringify(each.options) !== JSON.stringify(first?.options)))
      throw unknownLayer(labelOf(layer), 'all of its calls must have the same arguments')
    for (const [k, { sources, states }] of (given.length === 0 ? [NO_TENSORS] : options).entries()) {
      open.set(`${String(record['name'] ?? layer.config['name'])}\0${k}`, { layer: own, sources, states })
    }
  }
  const places = new Map<string, number>()
  const calls: FileCall[] = []
  const valueIn = ({ call, tensor }: Tensor) => [places.get(call) as number, tensor] as const
  const missing = new Map<string, number>()
  const readers = new Map<string, string[]>()
  for (const [key, { sources, states }] of open) {
    const taken = new Set([...sources, ...states].map(({ call }) => call))
    missing.set(key, taken.size)
    for (const call of taken) {
      const known = readers.get(call)
      if (known === undefined) readers.set(call, [key])
      else known.push(key)
    }
  }
  const ready = [...open.keys()].filter((key) => missing.get(key) === 0)
  for (const key of ready) {
    const { layer, sources, states } = open.get(key) as OpenCall
    open.delete(key)
    places.set(key, calls.length)
    calls.push({ layer, from: sources.map(valueIn), states: states.map(valueIn) })
    for (const reader of readers.get(key) ?? []) {
      const left = (missing.get(reader) ?? 0) - 1
      missing.set(reader, left)
      if (left === 0) ready.push(reader)
    }
  }
  const [left] = open.values()
  if (left !== undefined)
    throw notAModel(
      file.path,
      `${labelOf(left.layer)} must take tensors of layers before it: they are missing, or a cycle`,
    )
  const ends = namedTensors(config?.['output_layers'])
  const begins = namedTensors(config?.['input_layers'])
  const wrong = [...ends, ...begins].find(({ tensor: { call } }) => !places.has(call))
  if (wrong !== undefined || ends.length === 0 || begins.length === 0)
    throw notAModel(file.path, 'its inputs and outputs must be tensors of its layers')
  return {
    calls,
    inputs: begins.map(({ name, tensor }) => ({ name, call: valueIn(tensor)[0] })),
    outputs: ends.map(({ name, tensor }) => ({ name, value: valueIn(tensor) })),
  }
}

interface Tensor {
  /** The layer's name and the number of its call. */
  readonly call: string
  readonly tensor: number
}

interface OpenCall {
  readonly layer: FileLayer
  readonly sources: readonly Tensor[]
  readonly states: readonly Tensor[]
}

const NO_TENSORS = { sources: [], states: [], options: {} }

/** The tensors that a call takes, and its other arguments as options. */
function callTensors(layer: FileLayer, call: unknown, masks: ReadonlySet<unknown>) {
  // Keras 2 lists [layer, call, output, options].
  const isOld = Array.isArray(call)
  const positional = isOld
    ? isTensorList(call)
      ? [call]
      : call
    : [jsonRecord(call)?.['args'] ?? []].flat(2).filter((each) => each !== null)
  const named = isOld
    ? positional.map((each) => jsonRecord([each].flat()[3]) ?? {})
    : [jsonRecord(jsonRecord(call)?.['kwargs']) ?? {}]
  const tensors = positional.map(tensorOf)
  const states: (Tensor | undefined)[] = []
  const options: Record<string, unknown> = {}
  for (const [name, value] of named.flatMap((each) => Object.entries(each))) {
    if (value === null || value === false || (name === 'mask' && masks.has(sourceOf(value)))) continue
    if (SOURCES.has(name)) tensors.push(tensorOf(value))
    else if (name === 'initial_state' && RECURRENT_CLASSES.has(layer.className))
      states.push(...(isTensorList(value) ? [value] : [value].flat()).map(tensorOf))
    else options[name] = value
  }
  if (RECURRENT_CLASSES.has(layer.className)) states.unshift(...tensors.splice(1))
  const all = [...tensors, ...states]
  const known = all.filter((each) => each !== undefined)
  const isMerge = MERGE_CLASSES.has(layer.className)
  const isAttention = layer.className === 'MultiHeadAttention'
  const ofOne = new Set(known.map(({ call, tensor }) => `${call}\0${tensor}`)).size === 1
  const isKnown = known.length === all.length && known.length > 0 && (isAttention || Object.keys(options).length === 0)
  if (!isKnown || (!isMerge && (isAttention ? !ofOne : tensors.length !== 1))) {
    const rule = isMerge ? 'tensors alone' : 'one tensor, and a recurrent layer initial states'
    throw unknownLayer(labelOf(layer), `it must take ${rule}: current arguments are others`)
  }
  return { sources: (isMerge ? tensors : tensors.slice(0, 1)) as Tensor[], states: states as Tensor[], options }
}

function isTensorList(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === 'string'
}

/** A tensor in the forms of Keras 3 and 2. */
function tensorOf(value: unknown): Tensor | undefined {
  const history = jsonRecord(jsonRecord(value)?.['config'])?.['keras_history'] ?? value
  if (!Array.isArray(history)) return undefined
  const [name, call, tensor] = history
  if (typeof name !== 'string' || !Number.isSafeInteger(call) || !Number.isSafeInteger(tensor) || tensor < 0)
    return undefined
  return { call: `${name}\0${call}`, tensor }
}

/** Inputs or outputs with their names, in a dictionary or of their layers. */
function namedTensors(given: unknown): { readonly name: string; readonly tensor: Tensor }[] {
  const isList = Array.isArray(given)
  const listed = isTensorList(given) ? [given] : isList ? given : Object.values(jsonRecord(given) ?? {})
  const keys = isList ? [] : Object.keys(jsonRecord(given) ?? {})
  const used = new Set<string>()
  return listed.flatMap((each, k) => {
    const tensor = tensorOf(each)
    if (tensor === undefined) return []
    const base = (keys[k] ?? (tensor.call.split('\0')[0] as string)).replace(/[^A-Za-z0-9._-]/g, '_')
    let name = base
    for (let count = 1; used.has(name); count++) name = `${base}_${count}`
    used.add(name)
    return [{ name, tensor }]
  })
}

/** How masks reach the calls of a graph, by the rules of a chain: a mask must end before values part or join. */
export function masksOfGraph({ calls, outputs }: FileGraph, zeroesSides: boolean): MaskAt[] {
  const none: MaskAt = { mask: 'none', isMasked: false, holds: false, zeroesSides }
  const found = calls.map(() => none)
  const readers = calls.map((): number[] => [])
  for (const [at, { from }] of calls.entries())
    for (const [source, tensor] of from) if (tensor === 0) readers[source]?.push(at)
  const ends = new Set(outputs.filter(({ value: [, tensor] }) => tensor === 0).map(({ value: [call] }) => call))
  /** Calls behind a masking layer, whose masks were looked at with its own. */
  const walked = new Set<number>()
  for (const [start, { layer, from }] of calls.entries()) {
    if (!makesMask(layer) || walked.has(start)) continue
    const path = [start]
    for (;;) {
      const last = path.at(-1) as number
      const next = readers[last] ?? []
      const [only] = next
      if (
        next.length !== 1 ||
        only === undefined ||
        ends.has(last) ||
        MERGE_CLASSES.has(calls[only]?.layer.className ?? '')
      )
        break
      path.push(only)
      walked.add(only)
    }
    const end = path.at(-1) as number
    const isBranch = (readers[end] ?? []).length > 0
    const masks = masksOf(
      path.map((at) => calls[at]?.layer as FileLayer),
      zeroesSides,
      isBranch,
    )
    if (masks[0]?.mask !== 'none' && calls[from[0]?.[0] ?? -1]?.layer.className !== 'InputLayer')
      throw unknownLayer(labelOf(layer), 'a layer that masks must take an input of the model')
    for (const [k, at] of path.entries()) {
      // Keras 3 takes no step for masked there, Keras 2 does.
      if (masks[k]?.isMasked && (calls[at]?.states.length ?? 0) > 0)
        throw unknownLayer(labelOf(calls[at]?.layer as FileLayer), 'it must not take a mask and initial states')
      const own = masks[k] as MaskAt
      if (own.mask !== 'none' || own.isMasked) found[at] = own
    }
  }
  return found
}

/**
 * Names of the operations with which a functional model of Keras 3 computes the mask of a layer: its input is compared with
 * the value that is masked, and of vectors any element.
 */
function masksIn(records: readonly Json[]): ReadonlySet<unknown> {
  const masks = new Set<unknown>()
  const argumentsOf = (record: Json) => [jsonRecord([record['inbound_nodes']].flat()[0])?.['args']].flat()
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

/** The name of the layer that a tensor comes from, in the forms of Keras 3 and 2. */
function sourceOf(tensor: unknown): unknown {
  const [name] = [jsonRecord(jsonRecord(tensor)?.['config'])?.['keras_history']].flat()
  return name ?? (Array.isArray(tensor) && tensor.length > 2 ? tensor[0] : undefined)
}

/** The call of a layer of a functional model: the layers whose outputs it takes, and its other arguments as options. */
function callOf(record: Json, masks: ReadonlySet<unknown>) {
  const calls = [record['inbound_nodes'] ?? []].flat()
  const call = calls[0]
  if (call === undefined) return { sources: [], options: {} }
  // Keras 2 lists [layer, call, output, options].
  const isOld = Array.isArray(call)
  const positional = isOld ? call : [jsonRecord(call)?.['args']].flat(2)
  const named = isOld ? call.map((each) => [each].flat()[3]) : [jsonRecord(call)?.['kwargs']]
  const given = Object.entries(Object.assign({}, ...named.map(jsonRecord)) as Json)
  const inputs = given.filter(([name]) => SOURCES.has(name)).map(([, value]) => value)
  const options = given.filter(([name, value]) => {
    const isMask = name === 'mask' && masks.has(sourceOf(value))
    return value !== null && value !== false && !isMask && !SOURCES.has(name)
  })
  const sources = [...positional, ...inputs.filter((value) => value !== null)].map(sourceOf)
  const single = new Set(sources).size === 1 ? sources.slice(0, 1) : null
  const taken = JOINS.has(record['class_name']) && sources.length > 1 ? sources : single
  const isAttention = record['class_name'] === 'MultiHeadAttention'
  const isKnown =
    calls.length === 1 &&
    (taken !== single || isAttention || sources.length < 2) &&
    (isAttention || options.length === 0) &&
    sources.every((each) => typeof each === 'string')
  return { sources: isKnown ? taken : null, options: Object.fromEntries(options) }
}

/** The masks that a layer sees. */
export interface MaskAt {
  readonly mask: Padding | 'none'
  readonly isMasked: boolean
  /** The layer's masked steps are seen, which by default repeat the output before them. */
  readonly holds: boolean
  /** A Bidirectional gives zeros there: that of tf.keras and Keras 3, not that of Keras before 2.4. */
  readonly zeroesSides: boolean
}

/**
 * How masks reach layers, by Keras' rules. Throws RangeError `ERR_UNKNOWN_LAYER` for a way that has no counterpart.
 *
 * @param isBranch behind its end other layers would see its masks.
 */
export function masksOf(layers: readonly FileLayer[], zeroesSides: boolean, isBranch: boolean): MaskAt[] {
  const none: MaskAt = { mask: 'none', isMasked: false, holds: false, zeroesSides }
  const found = layers.map(() => none)
  const computing = layers.findIndex(({ className }) => className !== 'InputLayer')
  for (const [start, layer] of layers.entries()) {
    if (!makesMask(layer)) continue
    let last = -1
    let isSeen = isBranch
    for (let at = start + 1; at < layers.length; at++) {
      const use = maskUseOf(layers[at] as FileLayer)
      if (layers[at]?.branches !== undefined) {
        throw unknownLayer(labelOf(layers[at] as FileLayer), `the mask of ${labelOf(layer)} must end before it`)
      }
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
      isSeen = false
      break
    }
    if (isSeen) throw unknownLayer(labelOf(layer), 'its mask must end within its branch')
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
  return KERAS_CLASSES.get(className)?.mask ?? 'ends'
}

function givesSequences({ className, config }: FileLayer): boolean {
  const inner = className === 'Bidirectional' ? jsonRecord(jsonRecord(config['layer'])?.['config']) : config
  return RECURRENT_CLASSES.has(className) && inner?.['return_sequences'] === true
}

export function labelOf({ className, config: { name } }: FileLayer): string {
  return `${typeof name === 'string' ? name : className} (${className})`
}

export function notAModel(path: string, rule: string) {
  return codedRangeError('ERR_NOT_A_MODEL', `Cannot import a model as ${path} is none: ${rule}`, { path })
}
