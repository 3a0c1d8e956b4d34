import { describeValue } from '@cudnn-rnn/canonical'
import { type Json, jsonRecord, uniqueKerasName } from '@cudnn-rnn/canonical/rules'
import type { WeightFile } from '@cudnn-rnn/interop'
import { MERGES, type MergeName } from '../kinds/merges.js'
import { type FileCall, type FileGraph, type FileLayer, type FileValue, flatGraph } from './flat_graph.js'
import { composed, OF_OPERANDS } from './keras_composed.js'
import { KerasOptions, labelOf, notAModel, unknownLayer } from './keras_options.js'

export const RECURRENT_CLASSES = new Set(['LSTM', 'GRU', 'SimpleRNN', 'CuDNNLSTM', 'CuDNNGRU', 'Bidirectional', 'RNN'])

/** Layers that merge tensors, by the name here. */
export const MERGE_CLASSES: ReadonlyMap<string, MergeName> = new Map(
  Object.entries(MERGES).map(([name, { keras }]) => [keras, name as MergeName]),
)

/**
 * Whether a layer merges its operands alone, and not with numbers. A product over an axis, and sequences behind each other, are layers
 * that take several values.
 */
export function isMerge(
  { className, config }: Pick<FileLayer, 'className' | 'config'>,
  ofSequences: boolean,
  ofPictures = false,
): boolean {
  const isLayer =
    (className === 'Dot' && (ofSequences || config['normalize'] === true)) ||
    (className === 'Concatenate' && ofSequences && (ofPictures || isOfSteps(config['axis'])))
  return MERGE_CLASSES.has(className) && config['operands'] === undefined && !isLayer
}

function isOfSteps(axis: unknown): boolean {
  return axis === 1 || axis === -2
}

const MODEL_CLASSES = new Set<unknown>(['Sequential', 'Functional', 'Model'])

/** Deeper nesting is a trap. */
const DEEPEST = 64

/** The position of a model in the file and among the models around it. */
interface Within {
  readonly path: string
  /** Before the names of its layers: those of the models around it, each with `/`. */
  readonly prefix: string
  /** Before the places of its layers. */
  readonly place: string
  readonly depth: number
}

export type KerasFile = Pick<WeightFile, 'path' | 'format' | 'kerasModel'>

/** The calls of a file, those of models within the model among them. Throws RangeError `ERR_NOT_A_MODEL`, `ERR_UNKNOWN_LAYER`. */
export function graphOf({ path, format, kerasModel }: KerasFile): FileGraph {
  const model = jsonRecord(kerasModel)
  if (model === undefined) {
    const rule = format.startsWith('keras')
      ? 'it holds weights alone: save the whole model'
      : `it is a file of the format ${format}. ${format === 'onnx' ? 'openModel(file, { ort }) opens it over ONNX Runtime' : 'loadNetwork makes a model of its recurrent network'}`
    throw notAModel(path, rule)
  }
  if (!MODEL_CLASSES.has(model['class_name'])) {
    throw notAModel(
      path,
      `the class of the model must be Sequential or Functional: current class is ${describeValue(model['class_name'])}`,
    )
  }
  return flatGraph(path, modelOf(model, { path, prefix: '', place: '', depth: 0 }))
}

function modelOf(model: Json, at: Within): FileGraph {
  const { path, prefix } = at
  if (at.depth > DEEPEST) throw notAModel(path, `its models must not be more than ${DEEPEST} deep`)
  const { class_name: kind, config } = model
  const listed = Array.isArray(config) ? config : jsonRecord(config)?.['layers']
  if (!Array.isArray(listed)) throw notAModel(path, 'its layers must be a list')
  const all = listed.map((layer) => {
    const record = jsonRecord(layer)
    if (record === undefined) throw notAModel(path, 'every layer must be an object')
    return record
  })
  const masks = masksIn(all)
  const records = all.filter((record) => !masks.has(record['name']))
  const places = new Map<string, number>()
  const layers = records.map((record): FileLayer => {
    const className = record['class_name']
    if (typeof className !== 'string') {
      throw notAModel(path, `the class of every layer must be a text: current value is ${describeValue(className)}`)
    }
    const place = `${at.place}layers/${uniqueKerasName(places, className)}`
    const own = jsonRecord(record['config']) ?? {}
    const config = prefix === '' ? own : { ...own, name: prefix + textOf(own['name'], className) }
    if (isOwn(record))
      throw unknownLayer(labelOf({ className, config }), 'it must be a class of Keras: another class has that name')
    const isOperation = /^keras\.(?:src\.)?ops\b/.test(textOf(record['module'], ''))
    const layer = { className, config, place, isOperation }
    const normalized = className === 'SpectralNormalization' ? jsonRecord(config['layer']) : undefined
    // In inference its layer alone.
    if (normalized !== undefined) {
      const inner = { ...jsonRecord(normalized['config']), name: config['name'] }
      return { className: textOf(normalized['class_name'], className), config: inner, place: `${place}/layer` }
    }
    const nested = modelWithin(record, layer, at)
    return nested === undefined ? layer : { ...layer, model: nested }
  })
  if (kind !== 'Sequential')
    return linked(path, jsonRecord(config) ?? {}, callsOf(jsonRecord(config) ?? {}, records, layers, masks))
  const giver = layers.find(returnsState)
  if (giver === undefined) return chainOf(model, layers)
  const options = new KerasOptions(giver.className, giver.config)
  throw options.refused('layers of a Sequential must give one output, without states: save a functional model')
}

/** Whether a recurrent layer gives its final states beside its output. */
export function returnsState({ config }: FileLayer): boolean {
  const inner = jsonRecord(jsonRecord(config['layer'])?.['config'])
  return (inner ?? config)['return_state'] === true
}

/** Whether a class is not of Keras, which may compute anything under its name. */
function isOwn({ module, registered_name: registered }: Json): boolean {
  const isOther = typeof module === 'string' && !/^(?:keras|tf_keras|tensorflow)(?:\.|$)/.test(module)
  return isOther || textOf(registered, '').includes('>')
}

/** How a `Bidirectional` joins its outputs. */
const JOINS = new Map<unknown, string>(
  Object.entries({ concat: 'Concatenate', sum: 'Add', mul: 'Multiply', ave: 'Average' }),
)

/** Whether no network of two directions computes a `Bidirectional`: it gives two outputs, its sides differ, or they are several layers. */
export function isOfTwoLayers(config: Json): boolean {
  const form = (side: unknown) => {
    const { class_name: kind, config: own } = jsonRecord(side) ?? {}
    const { units, reset_after: after, cell } = jsonRecord(own) ?? {}
    const { class_name: cellKind, config: ofCell } = jsonRecord(cell) ?? {}
    return { kind, cellKind, sizes: [units, after, jsonRecord(ofCell)?.['units']] }
  }
  const [forward, backward] = [config['layer'], config['backward_layer'] ?? config['layer']].map(form)
  const isOne = forward.cellKind !== 'StackedRNNCells' && !textOf(forward.kind, '').startsWith('ConvLSTM')
  return config['merge_mode'] === null || !isOne || JSON.stringify(forward) !== JSON.stringify(backward)
}

/** The calls of both sides of a `Bidirectional`, and of the layers that join them. */
function sidesOf({ className, config, place }: FileLayer, at: Within): FileGraph {
  const options = new KerasOptions(className, config)
  const forward = options.object('layer')
  const own = jsonRecord(forward['config']) ?? {}
  const backward = jsonRecord(config['backward_layer']) ?? { ...forward, config: { ...own, go_backwards: true } }
  const isTurned = (side: Json) => jsonRecord(side['config'])?.['go_backwards'] === true
  if (isTurned(forward) || !isTurned(backward))
    throw options.refused('its forward layer must not go_backwards, and its backward layer must')
  const sides = [forward, backward].map((record, k): FileLayer => {
    const side = k === 0 ? 'forward' : 'backward'
    const layer = {
      className: textOf(record['class_name'], 'layer'),
      config: { ...jsonRecord(record['config']), name: `${textOf(config['name'], className)}/${side}` },
      place: `${place}/${side}_layer`,
    }
    const model = modelWithin(record, layer, at)
    return model === undefined ? layer : { ...layer, model }
  })
  const input = { className: 'InputLayer', config: {}, place: '' }
  const calls: FileCall[] = [input, ...sides].map((layer) => ({ layer, from: [], states: [] }))
  const append = (className: string, config: Json, from: readonly FileValue[]): FileValue => [
    calls.push({ layer: { className, config, place: '' }, from, states: [] }) - 1,
    0,
  ]
  for (const k of [1, 2]) calls[k] = { ...calls[k], from: [[0, 0]] }
  const last: FileValue = own['return_sequences'] === true ? append('Flip', { axis: 1 }, [[2, 0]]) : [2, 0]
  const join = JOINS.get(config['merge_mode'] === undefined ? 'concat' : config['merge_mode'])
  if (join === undefined && config['merge_mode'] !== null)
    throw options.wrong('merge_mode', `${[...JOINS.keys()]} or null`)
  const both: FileValue[] = [[1, 0], last]
  const ends = own['return_state'] === true ? sides.flatMap((side, k) => statesOf(side, 1 + k)) : []
  return {
    calls,
    inputs: [{ name: 'input', call: 0 }],
    outputs: [...(join === undefined ? both : [append(join, {}, both)]), ...ends].map((value) => ({ name: '', value })),
  }
}

/** The final states of a call of a recurrent layer, whose cells may be a call each. */
function statesOf({ className, config, model }: FileLayer, call: number): FileValue[] {
  const kind = textOf(jsonRecord(config['cell'])?.['class_name'], className)
  const count = model === undefined ? (kind.includes('LSTM') ? 2 : 1) : model.outputs.length - 1
  return Array.from({ length: count }, (_, k) => [call, k + 1])
}

/**
 * The calls of a layer that is a model, or applies one to each step, of cells that are one behind the other, or of two sides that no
 * network computes.
 */
function modelWithin(record: Json, { className, config, place }: FileLayer, at: Within): FileGraph | undefined {
  const within = { ...at, prefix: `${textOf(config['name'], className)}/`, depth: at.depth + 1 }
  if (MODEL_CLASSES.has(className)) return modelOf(record, { ...within, place: `${place}/` })
  const inner = jsonRecord(config['layer'])
  if (className === 'TimeDistributed' && inner !== undefined) {
    const own = { ...jsonRecord(inner['config']), name: config['name'] }
    const ofStep = { className: textOf(inner['class_name'], ''), config: own, place: `${place}/layer` }
    const nested = modelWithin(inner, ofStep, within)
    return nested && overSteps(nested)
  }
  const cell = jsonRecord(config['cell'])
  const cells = cell?.['class_name'] === 'StackedRNNCells' ? jsonRecord(cell['config'])?.['cells'] : undefined
  if (className === 'Bidirectional' && isOfTwoLayers(config)) return sidesOf({ className, config, place }, at)
  if (className !== 'RNN' || !Array.isArray(cells)) return undefined
  const counts = new Map<string, number>()
  const layers = cells.map((each, k): FileLayer => {
    const own = jsonRecord(each) ?? {}
    const unique = uniqueKerasName(counts, textOf(own['class_name'], 'cell'))
    const name = within.prefix + textOf(jsonRecord(own['config'])?.['name'], unique)
    const isSequence = k < cells.length - 1 || config['return_sequences']
    // Later cells are fed in the order in which the first one reads.
    const turned = k === 0 && config['go_backwards']
    return {
      className,
      config: { ...config, name, cell: own, return_sequences: isSequence, go_backwards: turned },
      place,
    }
  })
  const chain = chainOf({}, layers)
  const states = layers.map((layer, k) => statesOf(layer, k + 1))
  const ends = config['return_state'] === true ? states.flat().map((value) => ({ name: '', value })) : []
  return { ...chain, outputs: [...chain.outputs, ...ends], states: states.map(({ length }) => length) }
}

/** The calls of layers that are applied to each step of a sequence. */
function overSteps(graph: FileGraph): FileGraph {
  const made = new Map<FileLayer, FileLayer>()
  const wrapped = (layer: FileLayer): FileLayer => {
    const { className, config, place, model } = layer
    if (model !== undefined) return { ...layer, model: overSteps(model) }
    if (className === 'InputLayer' || MERGE_CLASSES.has(className)) return layer
    const inner = { class_name: className, config }
    return { className: 'TimeDistributed', config: { name: config['name'], layer: inner }, place, innerPlace: place }
  }
  for (const { layer } of graph.calls) if (!made.has(layer)) made.set(layer, wrapped(layer))
  return { ...graph, calls: graph.calls.map((call) => ({ ...call, layer: made.get(call.layer) as FileLayer })) }
}

function textOf(value: unknown, absent: string): string {
  return typeof value === 'string' ? value : absent
}

/** A Sequential. Its input has the shape that a layer or the model describes. */
function chainOf(model: Json, layers: readonly FileLayer[]): FileGraph {
  const shapes = [
    ...layers.map(({ config }) => shapeOf(config)),
    jsonRecord(model['config'])?.['build_input_shape'],
    jsonRecord(model['build_config'])?.['input_shape'],
  ]
  const input = { className: 'InputLayer', config: { batch_shape: shapes.find(Array.isArray) }, place: '' }
  const computing = layers.filter(({ className }) => className !== 'InputLayer')
  return {
    calls: [input, ...computing].map((layer, at) => ({ layer, from: at === 0 ? [] : [[at - 1, 0]], states: [] })),
    inputs: [{ name: 'input', call: 0 }],
    outputs: [{ name: 'output', value: [computing.length, 0] }],
  }
}

/** The shape of an input with its batch, as Keras 3 and 2 name it. */
export function shapeOf(config: Json): unknown {
  return config['batch_shape'] ?? config['batch_input_shape']
}

interface Tensor {
  /** The layer's name and the number of its call. */
  readonly call: string
  readonly tensor: number
}

/** A mask: where a tensor is not `value`. */
interface ComparedTensor {
  readonly of: Tensor
  readonly value: unknown
}

type Masks = ReadonlyMap<unknown, ComparedTensor | null>

interface OpenCall {
  readonly layer: FileLayer
  readonly mask?: ComparedTensor | undefined
  readonly sources: readonly Tensor[]
  readonly states: readonly Tensor[]
}

const NO_TENSORS = { sources: [], states: [], options: {}, mask: undefined }

/** The calls of a functional model, by layer and number. */
function callsOf(config: Json, records: readonly Json[], layers: readonly FileLayer[], masks: Masks) {
  const all = records.map((record, at) => {
    const layer = layers[at]
    const given = [record['inbound_nodes'] ?? []].flat() as readonly unknown[]
    const calls = given.length === 0 ? [NO_TENSORS] : given.map((call) => argumentsOf(layer, call, masks))
    const [{ options }] = calls
    if (calls.some((each) => JSON.stringify(each.options) !== JSON.stringify(options)))
      throw unknownLayer(labelOf(layer), 'all of its calls must have the same arguments')
    const name = String(record['name'] ?? jsonRecord(record['config'])?.['name'])
    return {
      name,
      layer: composed({ ...layer, config: { ...layer.config, ...options } }, calls[0].sources.length),
      calls,
    }
  })
  const ends = namedTensors(config['output_layers']).map(({ tensor }) => tensor)
  const taken = all.flatMap(({ calls }) => calls.flatMap(({ sources, states }) => [...sources, ...states]))
  const read = new Set([...taken, ...ends].map(({ call }) => call))
  const open = new Map<string, OpenCall>()
  for (const { name, layer, calls } of all) {
    // A functional model counts the call that made it, too.
    const first = layer.model !== undefined && read.has(keyOf(name, calls.length)) ? 1 : 0
    for (const [k, { options: _, ...call }] of calls.entries()) open.set(keyOf(name, first + k), { layer, ...call })
  }
  return open
}

function keyOf(layer: string, call: number): string {
  return `${layer}\0${call}`
}

/** Calls in an order in which each takes tensors of earlier ones. */
function linked(path: string, config: Json, open: Map<string, OpenCall>): FileGraph {
  const places = new Map<string, number>()
  const calls: FileCall[] = []
  const valueIn = ({ call, tensor }: Tensor) => [places.get(call) as number, tensor] as const
  const missing = new Map<string, number>()
  const readers = new Map<string, string[]>()
  const keys = [...open.keys()]
  for (const [key, { sources, states }] of open) {
    const taken = new Set([...sources, ...states].map(({ call }) => call))
    missing.set(key, taken.size)
    for (const call of taken) {
      const known = readers.get(call)
      if (known === undefined) readers.set(call, [key])
      else known.push(key)
    }
  }
  const ready = keys.filter((key) => missing.get(key) === 0)
  for (const key of ready) {
    const { layer, sources, states, mask } = open.get(key) as OpenCall
    open.delete(key)
    places.set(key, calls.length)
    const compared = mask && { ...mask, of: valueIn(mask.of) }
    calls.push({ layer, from: sources.map(valueIn), states: states.map(valueIn), mask: compared })
    for (const reader of readers.get(key) ?? []) {
      const left = (missing.get(reader) ?? 0) - 1
      missing.set(reader, left)
      if (left === 0) ready.push(reader)
    }
  }
  const [left] = open.values()
  if (left !== undefined)
    throw notAModel(path, `${labelOf(left.layer)} must take tensors of layers before it: they are missing, or a cycle`)
  const isInput = (key: string) => calls[places.get(key) as number].layer.className === 'InputLayer'
  const begins = namedTensors(config['input_layers'] ?? keys.filter(isInput).map(firstOf))
  const ends = namedTensors(config['output_layers'] ?? keys.slice(-1).map(firstOf))
  const wrong = [...ends, ...begins].find(({ tensor: { call } }) => !places.has(call))
  if (wrong !== undefined || ends.length === 0 || begins.length === 0)
    throw notAModel(path, 'its inputs and outputs must be tensors of its layers')
  const isRead = new Set([...readers.keys(), ...ends.map(({ tensor }) => tensor.call)])
  const unread = keys.find((key) => !isRead.has(key) && !isInput(key))
  if (unread !== undefined)
    throw notAModel(path, `${labelOf(calls[places.get(unread) as number].layer)} must lead to one of its outputs`)
  const inputs = begins.map(({ name, tensor }) => ({ name, call: valueIn(tensor)[0] }))
  const known = new Set(inputs.map(({ call }) => call))
  const stray = calls.find(({ layer }, at) => layer.className === 'InputLayer' && !known.has(at))
  if (stray !== undefined) throw notAModel(path, `${labelOf(stray.layer)} must be one of its inputs`)
  return { calls, inputs, outputs: ends.map(({ name, tensor }) => ({ name, value: valueIn(tensor) })) }
}

function firstOf(key: string): unknown {
  return [key.split('\0')[0], 0, 0]
}

/** Arguments that are inputs, with their places. */
const SOURCES: ReadonlyMap<string, number> = new Map(Object.entries({ inputs: 0, query: 0, value: 1, key: 2 }))

const ATTENTION = new Set(['MultiHeadAttention', 'Attention', 'AdditiveAttention'])

/** The tensors that a call takes, and its other arguments as options. */
function argumentsOf(layer: FileLayer, call: unknown, masks: Masks) {
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
  let mask: ComparedTensor | undefined
  for (const [name, value] of named.flatMap((each) => Object.entries(each))) {
    const given = name === 'mask' ? masks.get(sourceOf(value)) : undefined
    // Layers that draw train by default; `predict` of Keras does not.
    if (value === null || value === false || (name === 'training' && layer.className.startsWith('Random'))) continue
    if (given) mask = given
    else if (SOURCES.has(name)) tensors[SOURCES.get(name) as number] = tensorOf(value)
    else if (name === 'initial_state' && RECURRENT_CLASSES.has(layer.className))
      states.push(...tensorsIn(value).map(tensorOf))
    else options[name] = value
  }
  if (RECURRENT_CLASSES.has(layer.className)) states.unshift(...tensors.splice(1))
  const isOperation = OF_OPERANDS.has(layer.className) && !isOld && tensors.includes(undefined)
  if (isOperation) {
    const operands = [jsonRecord(call)?.['args']].flat()
    options['operands'] = operands.map((each) => (tensorOf(each) === undefined ? each : null))
    tensors.splice(0, tensors.length, ...tensors.filter((each) => each !== undefined))
  }
  const all = [...tensors, ...states]
  const known = all.filter((each) => each !== undefined)
  const isMany =
    MERGE_CLASSES.has(layer.className) || layer.model !== undefined || isOperation || OF_OPERANDS.has(layer.className)
  const isAttention = ATTENTION.has(layer.className)
  const isKnown =
    known.length === all.length && known.length > 0 && (isAttention || isOperation || Object.keys(options).length === 0)
  if (!isKnown || (!isMany && (isAttention ? tensors.length > 3 : tensors.length !== 1))) {
    const rule = isMany || isAttention ? 'tensors alone' : 'one tensor, and a recurrent layer initial states'
    throw unknownLayer(labelOf(layer), `it must take ${rule}: current arguments are others`)
  }
  return {
    sources: isAttention ? readBy(tensors as Tensor[]) : (tensors as Tensor[]),
    states: states as Tensor[],
    options,
    mask,
  }
}

/** The query, value and key without those that follow: the keys are the values, and these the queries. */
function readBy([query, value = query, key = value]: readonly Tensor[]): Tensor[] {
  const isSame = (a: Tensor, b: Tensor) => a.call === b.call && a.tensor === b.tensor
  if (!isSame(key, value)) return [query, value, key]
  return isSame(value, query) ? [query] : [query, value]
}

/** Lists of states are nested by cells. */
function tensorsIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) && !isTensorList(value) ? value.flatMap(tensorsIn) : [value]
}

function isTensorList(value: unknown): boolean {
  return Array.isArray(value) && typeof value[0] === 'string'
}

/** The name of a layer, the number of its call and that of its tensor, in the forms of Keras 3 and 2. */
function historyOf(value: unknown): readonly unknown[] {
  const history = jsonRecord(jsonRecord(value)?.['config'])?.['keras_history'] ?? value
  return Array.isArray(history) ? history : []
}

function tensorOf(value: unknown): Tensor | undefined {
  const [name, call, tensor] = historyOf(value)
  const isPlace = (each: unknown): each is number => Number.isSafeInteger(each) && (each as number) >= 0
  return typeof name === 'string' && isPlace(call) && isPlace(tensor) ? { call: keyOf(name, call), tensor } : undefined
}

function sourceOf(value: unknown): unknown {
  const { length, 0: name } = historyOf(value)
  return length > 2 ? name : undefined
}

/** Inputs or outputs with their names, in a dictionary or of their layers. */
function namedTensors(given: unknown): { readonly name: string; readonly tensor: Tensor }[] {
  const isList = Array.isArray(given)
  const listed = isTensorList(given) ? [given] : isList ? given : Object.values(jsonRecord(given) ?? {})
  const keys = isList ? [] : Object.keys(jsonRecord(given) ?? {})
  const used = new Set<string>()
  const counts = new Map<string, number>()
  return listed.flatMap((each, k) => {
    const tensor = tensorOf(each)
    if (tensor === undefined) return []
    const base = (keys[k] ?? (tensor.call.split('\0')[0] as string)).replace(/[^A-Za-z0-9._-]/g, '_')
    let count = counts.get(base) ?? 0
    let name = count === 0 ? base : `${base}_${count}`
    while (used.has(name)) name = `${base}_${++count}`
    counts.set(base, count + 1)
    used.add(name)
    return [{ name, tensor }]
  })
}

/** Operations that give a mask if all of their operands are masks. */
const MASK_OPERATIONS = new Set<unknown>(['Any', 'Concatenate', 'ConvertToTensor', 'ExpandDims', 'LogicalOr'])

/**
 * The masks of operations with which a functional model of Keras 3 computes that of a layer, by their names: the input of a layer
 * is compared with the value that is masked, and behind merges masks of operands are joined; null is one of no step.
 */
function masksIn(records: readonly Json[]): Masks {
  const nodesOf = (record: Json) => [record['inbound_nodes'] ?? []].flat()
  const operandsOf = (node: unknown) => [jsonRecord(node)?.['args'] ?? []].flat(2)
  /** Values that are masked, by the tensors that have them. */
  const masked = new Map<string, Set<unknown>>()
  for (const record of records) {
    const config = jsonRecord(record['config']) ?? {}
    if (!makesMask({ className: record['class_name'], config })) continue
    for (const source of nodesOf(record).map((node) => JSON.stringify(tensorOf(operandsOf(node)[0]))))
      masked.set(source, (masked.get(source) ?? new Set()).add(config['mask_value'] ?? 0))
  }
  const masks = new Map<unknown, ComparedTensor | null>()
  for (const record of masked.size === 0 ? [] : records) {
    const { class_name: kind, name } = record
    const operands = operandsOf(nodesOf(record)[0])
    const [of, value] = [tensorOf(operands[0]), operands[1]]
    if (kind === 'ZerosLike') masks.set(name, null)
    if (kind === 'NotEqual' && of && masked.get(JSON.stringify(of))?.has(value)) masks.set(name, { of, value })
    if (!MASK_OPERATIONS.has(kind) || !operands.every((each) => masks.has(sourceOf(each)))) continue
    const [mask, ...others] = operands.map((each) => masks.get(sourceOf(each))).filter((each) => each != null)
    if (mask && others.every((each) => JSON.stringify(each) === JSON.stringify(mask))) masks.set(name, mask)
  }
  return masks
}

export function makesMask({ className, config }: { readonly className: unknown; readonly config: Json }): boolean {
  return className === 'Masking' || (className === 'Embedding' && config['mask_zero'] === true)
}
