import { describeValue } from '@cudnn-rnn/canonical'
import { type Json, jsonRecord, uniqueKerasName } from '@cudnn-rnn/canonical/rules'
import type { WeightFile } from '@cudnn-rnn/interop'
import { codedRangeError } from './coded_error.js'
import { chainOfNodes, type FileLayer, type GraphNode } from './keras_graph.js'
import { unknownLayer } from './keras_options.js'
import { KERAS_CLASSES } from './layer_table.js'
import type { Padding } from './masked_steps.js'

export const RECURRENT_CLASSES = new Set(['LSTM', 'GRU', 'SimpleRNN', 'CuDNNLSTM', 'CuDNNGRU', 'Bidirectional', 'RNN'])

/** Layers that join several inputs, and the operations of the same names. */
const JOINS = new Set<unknown>(['Add', 'Subtract', 'Multiply', 'Average', 'Maximum', 'Minimum', 'Concatenate'])

/** Arguments that are inputs: of attention, each the same one. */
const SOURCES = new Set(['inputs', 'query', 'key', 'value'])

/** The layers of the model in order, without its InputLayer. */
export function chainOf({ path, format, kerasModel }: Pick<WeightFile, 'path' | 'format' | 'kerasModel'>): FileLayer[] {
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
    const place = `layers/${uniqueKerasName(places, className)}`
    return { className, config: jsonRecord(record['config']) ?? {}, place }
  })
  if (kind === 'Sequential') return layers
  const nodes = computing.map((record, index): GraphNode => {
    const layer = layers[index] as FileLayer
    const { sources, options } = callOf(record, masks)
    return { name: record['name'], layer: { ...layer, config: { ...layer.config, ...options } }, sources }
  })
  const outputs = [jsonRecord(config)?.['output_layers'] ?? [[computing.at(-1)?.['name']]]].flat(2)
  const refuse = (rule: string) => notAModel(path, rule)
  const named = outputs.filter((each) => typeof each === 'string')
  if (named.length !== 1) throw refuse(`a functional model must have one output: current number is ${named.length}`)
  const inputs = layers.filter(({ className }) => className === 'InputLayer')
  return [...inputs, ...chainOfNodes(nodes, named[0], refuse)]
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

function labelOf({ className, config: { name } }: FileLayer): string {
  return `${typeof name === 'string' ? name : className} (${className})`
}

export function notAModel(path: string, rule: string) {
  return codedRangeError('ERR_NOT_A_MODEL', `Cannot import a model as ${path} is none: ${rule}`, { path })
}
