/**
 * The recurrent layers in a Keras model's description (`config.json`, the attribute `model_config`). Sources:
 * keras/src/saving/serialization_lib.py, keras/src/saving/saving_lib.py, keras/src/layers/rnn/*.py.
 */

import { isJsonRecord, type Json, uniqueKerasName, unreadKerasOption } from '@cudnn-rnn/canonical/rules'
import { corrupt } from '../errors.js'

/** A cell: the variables `kernel`, `recurrent_kernel` and `bias`, and their configuration. */
export interface KerasCell {
  /** Its own name, such as `lstm_cell`; undefined if the layer has just this one. */
  readonly name: string | undefined
  /** `LSTM`, `GRUCell`, …; with a package (`mine>Cell`) if it is not Keras' own. */
  readonly className: string
  readonly config: Json
  /** Its place in a file of Keras 3: `layers/rnn/cell/cells/lstm_cell`. */
  readonly place: string
  /** False if the cell or a model around it is frozen: older files list such weights last. */
  readonly trainable: boolean
}

/** One direction of a recurrent layer: a cell, or several that feed each other. */
export interface KerasDirection {
  readonly className: string
  readonly config: Json
  readonly cells: readonly KerasCell[]
}

/** A recurrent layer, or a layer whose inside is described nowhere. */
export interface KerasLayer {
  /** Own names of the models around it and its own, joined by `/`. */
  readonly name: string
  /** The layer of the outermost model that it is, or is within: older files group weights by these. */
  readonly group: string
  readonly place: string
  /** The layer, or of a `Bidirectional` both; empty if nothing describes them. */
  readonly directions: readonly KerasDirection[]
  readonly mergeMode?: unknown
  /** Why the layer cannot be imported, for any cells. */
  readonly refusal?: string
  readonly notes: readonly string[]
}

/** Deeper nesting is a trap. */
const DEEPEST = 64
const LONGEST_NAME = 256
/** The `merge_mode` in place of which a description gives a network of each direction. */
export const APART = 'apart'
/** Layers with their own cell, or one that they are given. */
const RECURRENT = new Set(['LSTM', 'GRU', 'SimpleRNN', 'CuDNNLSTM', 'CuDNNGRU', 'RNN'])
const CELLS = new Set(['LSTMCell', 'GRUCell', 'SimpleRNNCell'])
const MODELS = new Set(['Sequential', 'Functional', 'Model'])
/** Options of recurrent layers, their wrappers and cells that are read, or that change no number of a network in inference. */
const READ = new Set([
  ...['units', 'activation', 'recurrent_activation', 'use_bias', 'unit_forget_bias', 'reset_after', 'go_backwards'],
  ...['dropout', 'recurrent_dropout', 'implementation', 'consume_less', 'unroll', 'input_dim', 'zero_output_for_mask'],
  ...[
    'return_sequences',
    'return_state',
    'stateful',
    'time_major',
    'cell',
    'layer',
    'merge_mode',
    'backward_layer',
    'num_constants',
  ],
])
const CONVOLUTIONAL = /^ConvLSTM\dD$/
/** Modules of Keras in its several homes. */
const KERAS_MODULE = /^(?:keras|tf_keras|tensorflow|tensorflow_core)(?:\.|$)/

/**
 * The layers of a model, in the model's order; none for a description that is not of a model.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`
 */
export function describedLayers(path: string, model: unknown): KerasLayer[] {
  if (!isJsonRecord(model)) return []
  if (layerList(model) === undefined || isForeign(model)) {
    const className = classInWords(model)
    const name = nameOf(model) ?? className
    return [{ name, group: '', place: '', directions: [], refusal: foreign(className), notes: [] }]
  }
  const masks = maskingLayers(path, model, 0)
  const notes = masks.length === 0 ? [] : [maskNote(masks)]
  return layersOfModel(model, {
    path,
    prefix: '',
    place: '',
    group: undefined,
    trainable: true,
    inTraining: false,
    notes,
    depth: 0,
  })
}

/** The position of the walk. */
interface Place {
  readonly path: string
  /** For names: ends in `/` unless empty. */
  readonly prefix: string
  /** In the file: ends in `/` unless empty. */
  readonly place: string
  readonly group: string | undefined
  readonly trainable: boolean
  /** A model or wrapper around it is called with training=True. */
  readonly inTraining: boolean
  readonly notes: readonly string[]
  readonly depth: number
}

/** A place below the outermost model. */
interface LayerPlace extends Place {
  readonly group: string
}

function layersOfModel(model: Json, at: Place): KerasLayer[] {
  const counts = new Map<string, number>()
  return (layerList(model) ?? []).flatMap((layer) => {
    const place = `${at.place}layers/${uniqueKerasName(counts, className(layer))}`
    const name = nameOf(layer) ?? className(layer)
    return layersOfLayer(layer, `${at.prefix}${name}`, { ...at, place, group: at.group ?? name, depth: at.depth + 1 })
  })
}

/** @param name of the layer, or of the wrapper around it. */
function layersOfLayer(layer: Json, name: string, at: LayerPlace): KerasLayer[] {
  const kind = className(layer)
  if (at.depth > DEEPEST) throw corrupt(at.path, `its models are more than ${DEEPEST} deep`)
  if (kind.length > LONGEST_NAME) throw corrupt(at.path, 'the class name of a layer is too long')
  const config = configOf(layer)
  const trainable = at.trainable && config['trainable'] !== false
  const inTraining = at.inTraining || isCalledInTraining(layer)
  const found = (directions: readonly KerasDirection[], more: Partial<KerasLayer> = {}): KerasLayer[] => {
    const notes = [...at.notes, ...callNotes(layer)]
    const isDrawn = inTraining && directions.some(({ cells }) => cells.some((cell) => drops(cell.config)))
    const configs = [config, ...directions.flatMap((side) => [side.config, ...side.cells.map((cell) => cell.config)])]
    const unread = configs.flatMap((each) => unreadKerasOption(each, (option) => READ.has(option)) ?? [])
    const refusal = isDrawn ? DRAWN : unread[0]
    return [{ name, group: at.group, place: at.place, notes, directions, ...(refusal && { refusal }), ...more }]
  }
  if (isForeign(layer)) return found([], { refusal: foreign(classInWords(layer)) })
  if (MODELS.has(kind))
    return layersOfModel(layer, { ...at, trainable, inTraining, prefix: `${name}/`, place: `${at.place}/` })
  if (CONVOLUTIONAL.test(kind)) {
    const cells = [cellAt(`${at.place}/cell`, layer, undefined, trainable)]
    const refusal = `${kind} convolves its input, which no model here does`
    return found([{ className: kind, config, cells }], { refusal })
  }
  if (CELLS.has(kind)) {
    const cells = [cellAt(at.place, layer, undefined, trainable)]
    const notes = [...at.notes, 'The model calls the cell itself, one step at a time.']
    return found([{ className: kind, config: {}, cells }], { notes })
  }
  if (RECURRENT.has(kind)) {
    return found([direction(layer, at.place, trainable)])
  }
  const inner = config['layer']
  if (!isJsonRecord(inner)) return []
  if (kind === 'Bidirectional') return found(...bidirectional(config, inner, at.place, trainable))
  const place = { ...at, trainable, inTraining, place: `${at.place}/layer`, depth: at.depth + 1 }
  if (kind === 'TimeDistributed') return layersOfLayer(inner, name, { ...place, notes: [...at.notes, SLICES] })
  // A wrapper of another kind: its effect on the layer is unknown.
  return layersOfLayer(inner, name, place).map((each) => ({ ...each, refusal: `it is within a ${kind}` }))
}

const DRAWN = 'it is called with training=True: its dropout is drawn in inference, too'

const SLICES = 'TimeDistributed applies the network to every slice along axis 1: make these rows of the batch.'

function bidirectional(
  config: Json,
  inner: Json,
  place: string,
  trainable: boolean,
): [directions: KerasDirection[], more: Partial<KerasLayer>] {
  const backward = config['backward_layer']
  const sides = [inner, isJsonRecord(backward) ? backward : reversed(inner)] as const
  const foreignSide = sides.find(isForeign)
  const directions = sides.map((side, index) => {
    return direction(side, `${place}/${index === 0 ? 'forward' : 'backward'}_layer`, trainable)
  })
  const mergeMode = config['merge_mode'] === undefined ? 'concat' : config['merge_mode']
  const refusal = foreignSide === undefined ? {} : { refusal: foreign(classInWords(foreignSide)) }
  return [directions, { mergeMode, ...refusal }]
}

function direction(layer: Json, place: string, trainable: boolean): KerasDirection {
  const config = configOf(layer)
  const isTrainable = trainable && config['trainable'] !== false
  const kind = className(layer)
  const given = config['cell']
  if (kind !== 'RNN' || !isJsonRecord(given)) {
    return { className: kind, config, cells: [cellAt(`${place}/cell`, layer, undefined, isTrainable)] }
  }
  const cells = configOf(given)['cells']
  if (className(given) !== 'StackedRNNCells' || isForeign(given) || !Array.isArray(cells)) {
    return { className: kind, config, cells: [cellAt(`${place}/cell`, given, undefined, isTrainable)] }
  }
  const counts = new Map<string, number>()
  const names = new Map<string, number>()
  return {
    className: 'StackedRNNCells',
    config,
    cells: cells.filter(isJsonRecord).map((cell) => {
      const own = uniqueKerasName(counts, className(cell))
      const name = nameOf(cell) ?? own
      // Names of cells need not differ.
      const repeats = names.get(name) ?? 0
      names.set(name, repeats + 1)
      const unique = repeats === 0 ? name : `${name}#${repeats}`
      return cellAt(`${place}/cell/cells/${own}`, cell, unique, isTrainable)
    }),
  }
}

function cellAt(place: string, cell: Json, name: string | undefined, trainable: boolean): KerasCell {
  const config = configOf(cell)
  return { name, className: classInWords(cell), config, place, trainable: trainable && config['trainable'] !== false }
}

/** The backward layer that `Bidirectional` derives from its layer if none is given. */
function reversed(layer: Json): Json {
  const config = configOf(layer)
  return { ...layer, config: { ...config, go_backwards: config['go_backwards'] !== true } }
}

function drops(config: Json): boolean {
  return ['dropout', 'recurrent_dropout'].some((option) => typeof config[option] === 'number' && config[option] !== 0)
}

/** Names of the layers whose outputs carry masks. */
function maskingLayers(path: string, model: Json, depth: number): string[] {
  if (depth > DEEPEST) throw corrupt(path, `its models are more than ${DEEPEST} deep`)
  return (layerList(model) ?? []).flatMap((layer) => {
    const config = configOf(layer)
    const masks = className(layer) === 'Masking' || config['mask_zero'] === true
    const inner = config['layer']
    return [
      ...(masks ? [nameOf(layer) ?? className(layer)] : []),
      ...maskingLayers(path, layer, depth + 1),
      ...(isJsonRecord(inner) ? maskingLayers(path, { config: { layers: [inner] } }, depth + 1) : []),
    ]
  })
}

function maskNote(layers: readonly string[]): string {
  return `The model masks steps (${layers.join(', ')}): of rows whose masked steps come last, pass the lengths as sequenceLengths; other masks have no counterpart. Past a row's length outputs are zero, where Keras may repeat the last one.`
}

function callNotes(layer: Json): string[] {
  if (!callsOf(layer).some(givesStates)) return []
  return ['The model gives the layer its initial_state: pass it as inputH and, to an LSTM, inputC.']
}

function isCalledInTraining(layer: Json): boolean {
  return callsOf(layer).some((call) => {
    return isJsonRecord(call)
      ? isJsonRecord(call['kwargs']) && call['kwargs']['training'] === true
      : keywordsOf(call)['training'] === true
  })
}

/** How a functional model calls a layer, once for each time that it does. */
function callsOf(layer: Json): readonly unknown[] {
  const nodes = layer['inbound_nodes']
  return Array.isArray(nodes) ? nodes : []
}

/** Keras 3 has the arguments by name or by place; Keras 2 lists tensors, each with the keywords of the call. */
function givesStates(call: unknown): boolean {
  if (!isJsonRecord(call)) return Array.isArray(call) && (call.length > 1 || keywordsOf(call)['initial_state'] != null)
  const { args, kwargs } = call
  if (isJsonRecord(kwargs) && kwargs['initial_state'] != null) return true
  return Array.isArray(args) && args[1] != null
}

function keywordsOf(call: unknown): Json {
  const first: unknown = Array.isArray(call) ? call[0] : undefined
  const keywords: unknown = Array.isArray(first) ? first[3] : undefined
  return isJsonRecord(keywords) ? keywords : {}
}

function foreign(name: string): string {
  return `its class ${name} is not Keras' own, and its function is not in the file. Save the weights alone (save_weights) to have the layers within read with Keras' defaults`
}

/** Registered by a program, as `package>Class`, or from a module of one. */
function isForeign(layer: Json): boolean {
  const { module } = layer
  if (classInWords(layer).includes('>')) return true
  return typeof module === 'string' && !KERAS_MODULE.test(module)
}

function classInWords(layer: Json): string {
  const registered = layer['registered_name']
  return typeof registered === 'string' ? registered : className(layer)
}

/** Keras before 2.2.3 writes a Sequential's layers without a name around them. */
function layerList(model: Json): Json[] | undefined {
  const { config } = model
  const layers = Array.isArray(config) ? config : isJsonRecord(config) ? config['layers'] : undefined
  return Array.isArray(layers) ? layers.filter(isJsonRecord) : undefined
}

function className({ class_name: name }: Json): string {
  return typeof name === 'string' ? name : ''
}

function configOf({ config }: Json): Json {
  return isJsonRecord(config) ? config : {}
}

function nameOf(layer: Json): string | undefined {
  const { name = layer['name'] } = configOf(layer)
  return typeof name === 'string' ? name : undefined
}
