import { type Json, jsonRecord, uniqueKerasName } from '@cudnn-rnn/arguments'
import { describeValue } from '@cudnn-rnn/canonical'
import type { WeightFile } from '@cudnn-rnn/interop'
import { codedRangeError } from './coded_error.js'
import { unknownLayer } from './keras_options.js'
import { KERAS_ROWS } from './keras_rows.js'
import type { Padding } from './masked_steps.js'

export const RECURRENT_CLASSES = new Set(['LSTM', 'GRU', 'SimpleRNN', 'CuDNNLSTM', 'CuDNNGRU', 'Bidirectional', 'RNN'])

/** A layer of the file with its place there. */
export interface FileLayer {
  readonly className: string
  readonly config: Json
  /** `layers/dense_1`, where a file of Keras 3 keeps its variables. */
  readonly place: string
}

/** The layers of the model in order, without its InputLayer. */
export function chainOf({ path, format, kerasModel }: WeightFile): FileLayer[] {
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

/** The masks that a layer sees. */
export interface MaskAt {
  readonly mask: Padding | 'none'
  readonly isMasked: boolean
  /** The layer's masked steps are seen, which by default repeat the output before them. */
  readonly holds: boolean
  /** A Bidirectional gives zeros there: that of tf.keras and Keras 3, not that of Keras before 2.4. */
  readonly zeroesSides: boolean
}

/** How masks reach layers, by Keras' rules. Throws RangeError `ERR_UNKNOWN_LAYER` for a way that has no counterpart. */
export function masksOf(layers: readonly FileLayer[], zeroesSides: boolean): MaskAt[] {
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

export function notAModel(path: string, rule: string) {
  return codedRangeError('ERR_NOT_A_MODEL', `Cannot import a model as ${path} is none: ${rule}`, { path })
}
