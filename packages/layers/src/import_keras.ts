import type { Backend } from '@cudnn-rnn/backend'
import { DTYPES } from '@cudnn-rnn/backend'
import { describeValue, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import {
  type ImportedNetwork,
  type ImportedWeights,
  importWeights,
  openWeightFile,
  type StoredTensor,
  type WeightFile,
  type WeightInput,
} from '@cudnn-rnn/interop'
import { activation } from './activation.js'
import { codedRangeError } from './coded_error.js'
import { conv1d } from './convolution.js'
import { dense } from './dense.js'
import { dropout } from './dropout.js'
import { embedding } from './embedding.js'
import type { LayerDefinition } from './layer.js'
import { layerNorm } from './layer_norm.js'
import { maxPool1d } from './max_pooling.js'
import { cudnnGRU, cudnnLSTM, cudnnRNNRelu, cudnnRNNTanh, RecurrentLayer } from './recurrent.js'
import { lastStep, maxOverTime, meanOverTime } from './sequence_pooling.js'
import { SequentialModel } from './sequential_model.js'
import type { Signal } from './signal.js'
import { timeDistributed } from './time_distributed.js'

type Json = Readonly<Record<string, unknown>>

const RECURRENT = {
  lstm: cudnnLSTM,
  gru: cudnnGRU,
  rnn_relu: cudnnRNNRelu,
  rnn_tanh: cudnnRNNTanh,
} as const

const RECURRENT_CLASSES = new Set(['LSTM', 'GRU', 'SimpleRNN', 'CuDNNLSTM', 'CuDNNGRU', 'Bidirectional', 'RNN'])

/** Older files have weights by name. */
const OWN_NAMES = ['kernel', 'bias', 'embeddings', 'gamma', 'beta'] as const
type OwnName = (typeof OWN_NAMES)[number]

/** A layer, and how its variables get their values. */
interface Imported {
  readonly definition: LayerDefinition
  readonly values?: readonly Tensor<FloatArray>[]
  readonly network?: ImportedNetwork
  /** Throws RangeError `ERR_UNKNOWN_LAYER` where Keras computes something else from such an input. */
  readonly checkInput?: ((input: Signal) => void) | undefined
}

/**
 * A Keras `Sequential` model from a `.keras` file, or an `.h5` of a whole model, whose layers are here: embedding, LSTM, GRU,
 * SimpleRNN, Bidirectional, Dense, Activation, ReLU, Dropout, LayerNormalization, Conv1D, MaxPooling1D,
 * GlobalAveragePooling1D, GlobalMaxPooling1D, TimeDistributed. Inputs are time-major here. In place of Keras' masks, pass `sequenceLengths`.
 *
 * @param input as `importWeights` takes it: a path, bytes or a File.
 * @throws RangeError `ERR_UNKNOWN_LAYER`, naming the layer that is unknown here, `ERR_NOT_A_MODEL` for a file that does
 *   not describe a Sequential model; WeightFileError
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
    const layers = sequentialLayers(file)
    const weights = layers.some((layer) => RECURRENT_CLASSES.has(classOf(layer)))
      ? await importWeights(file)
      : undefined
    const imported: Imported[] = []
    const places = new Map<string, number>()
    for (const layer of layers) imported.push(...(await importedLayer(layer, placeOf(layer, places), file, weights)))
    const model = new SequentialModel(
      backend,
      imported.map(({ definition }) => definition),
      inputOf(file.kerasModel as Json, layers, imported),
    )
    try {
      for (const [index, each] of imported.entries()) {
        each.checkInput?.(model.layers[index].input)
        await setValues(backend, model.layers[index], each)
      }
      return model
    } catch (error) {
      model.dispose()
      throw error
    }
  } finally {
    await file.close()
  }
}

async function setValues(
  backend: Backend,
  layer: SequentialModel['layers'][number],
  { values = [], network }: Imported,
) {
  const ofDtype = ({ data, shape }: Tensor<FloatArray>) => ({ data: DTYPES[backend.dtype].array.from(data), shape })
  for (const [index, value] of values.entries()) layer.variables[index].assign(ofDtype(value))
  if (network === undefined || !(layer instanceof RecurrentLayer)) return
  const { weights, biases } = network.canonical
  using params = await layer.model.canonicalToParams(weights.map(ofDtype), biases.map(ofDtype))
  layer.variables[0].assign(params)
}

/** The layers of the model, without its InputLayer. */
function sequentialLayers({ path, kerasModel }: WeightFile): Json[] {
  const model = asRecord(kerasModel)
  if (model === undefined) throw notAModel(path, 'it holds weights alone: save the whole model')
  if (model['class_name'] !== 'Sequential') {
    throw notAModel(
      path,
      `the class of the model must be Sequential: current class is ${describeValue(model['class_name'])}`,
    )
  }
  const config = model['config']
  const layers = Array.isArray(config) ? config : asRecord(config)?.['layers']
  if (!Array.isArray(layers)) throw notAModel(path, 'its layers must be a list')
  return layers.map((layer) => {
    const record = asRecord(layer)
    if (record === undefined) throw notAModel(path, 'every layer must be an object')
    return record
  })
}

/** Where a file of Keras 3 keeps a layer: `layers/dense_1`; undefined for layers of no place. */
function placeOf(layer: Json, places: Map<string, number>): string {
  const base = snakeCase(classOf(layer))
  const count = places.get(base) ?? 0
  places.set(base, count + 1)
  return `layers/${base}${count === 0 ? '' : `_${count}`}`
}

/** As `keras.src.utils.naming.to_snake_case`. */
function snakeCase(name: string): string {
  return name
    .replace(/\W+/g, '')
    .replace(/(.)([A-Z][a-z]+)/g, '$1_$2')
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
}

async function importedLayer(
  layer: Json,
  place: string,
  file: WeightFile,
  weights: ImportedWeights | undefined,
  wrapper?: string,
): Promise<Imported[]> {
  const config = configOf(layer)
  const className = classOf(layer)
  // Older files group weights by the layers of the model: those of a wrapped one are under its wrapper.
  const given = wrapper ?? config['name']
  const own = wrapper === undefined ? given : `${wrapper}_${snakeCase(className)}`
  const name = typeof own === 'string' && /^[A-Za-z0-9._-]+$/.test(own) ? { name: own } : {}
  const label = `${String(given ?? className)} (${className})`
  if (className === 'InputLayer') return []
  if (RECURRENT_CLASSES.has(className)) return recurrentLayer(layer, label, name, weights)
  if (className === 'TimeDistributed') {
    const inner = asRecord(config['layer'])
    if (inner === undefined) throw unknownLayer(label, 'it has no layer')
    const found = await importedLayer(inner, `${place}/layer`, file, undefined, String(given))
    return found.map(({ definition, values, checkInput }) => ({
      definition: timeDistributed(definition),
      ...(values && { values }),
      checkInput: (input) => checkInput?.({ ...input, isSequence: false }),
    }))
  }
  const read = (shapes: readonly (readonly [OwnName, readonly number[] | undefined])[]) =>
    readVariables(file, place, typeof given === 'string' ? given : '', label, shapes)
  switch (className) {
    case 'Embedding': {
      const [size, units] = [countOf(config, 'input_dim', label), countOf(config, 'output_dim', label)]
      const values = await read([['embeddings', [size, units]]])
      return [{ definition: embedding({ size, units, ...name }), values }]
    }
    case 'Dense': {
      const units = countOf(config, 'units', label)
      const hasBias = config['use_bias'] !== false
      const values = await read([['kernel', undefined], ...(hasBias ? ([['bias', [units]]] as const) : [])])
      if (!hasBias) values.push({ data: new Float32Array(units), shape: [units] })
      return [{ definition: dense({ units, activation: activationOf(config['activation'], label), ...name }), values }]
    }
    case 'Conv1D': {
      const filters = countOf(config, 'filters', label)
      const [kernelSize, strides] = [axisOf(config, 'kernel_size', label), axisOf(config, 'strides', label)]
      const isPlain = axisOf(config, 'dilation_rate', label) === 1 && (config['groups'] ?? 1) === 1
      if (!isPlain) throw unknownLayer(label, 'it must have neither dilation nor groups')
      const values = await read([
        ['kernel', undefined],
        ...(config['use_bias'] !== false ? ([['bias', [filters]]] as const) : []),
      ])
      if (values.length === 1) values.push({ data: new Float32Array(filters), shape: [filters] })
      const padding = paddingOf(config, ['valid', 'same', 'causal'], label)
      const own = {
        filters,
        kernelSize,
        strides,
        padding,
        activation: activationOf(config['activation'], label),
        ...name,
      }
      return [{ definition: conv1d(own), values }]
    }
    case 'MaxPooling1D': {
      const poolSize = axisOf(config, 'pool_size', label)
      // Keras' None is the size of the pool.
      const strides = config['strides'] == null ? poolSize : axisOf(config, 'strides', label)
      return [
        { definition: maxPool1d({ poolSize, strides, padding: paddingOf(config, ['valid', 'same'], label), ...name }) },
      ]
    }
    case 'Activation': {
      const kind = activationOf(config['activation'], label)
      return kind === 'linear' ? [] : [{ definition: activation(kind, name) }]
    }
    case 'ReLU': {
      const isPlain = ['negative_slope', 'threshold'].every((option) => !config[option])
      if (!isPlain) throw unknownLayer(label, 'it must have no negative_slope or threshold')
      const maximum = config['max_value']
      if (maximum === null || maximum === undefined) return [{ definition: activation('relu', name) }]
      if (typeof maximum === 'number' && maximum > 0) return [{ definition: activation('relu', { maximum, ...name }) }]
      throw unknownLayer(label, `max_value must be a number > 0: current value is ${describeValue(maximum)}`)
    }
    case 'Softmax': {
      const checkInput = lastAxisCheck(config, label, 'its axis must be the last one')
      return [{ definition: activation('softmax', name), checkInput }]
    }
    case 'Dropout': {
      if (Array.isArray(config['noise_shape'])) throw unknownLayer(label, 'it must have no noise_shape')
      return [{ definition: dropout({ rate: Number(config['rate']), ...name }) }]
    }
    case 'LayerNormalization': {
      const rule = 'it must normalize the last axis'
      const checkInput = lastAxisCheck(config, label, rule)
      if (config['rms_scaling'] === true) throw unknownLayer(label, rule)
      const [hasGamma, hasBeta] = [config['scale'] !== false, config['center'] !== false]
      if (!hasGamma || !hasBeta) throw unknownLayer(label, 'it must have scale and center')
      const values = await read([
        ['gamma', undefined],
        ['beta', undefined],
      ])
      return [{ definition: layerNorm({ epsilon: Number(config['epsilon'] ?? 1e-3), ...name }), values, checkInput }]
    }
    case 'GlobalAveragePooling1D':
    case 'GlobalMaxPooling1D': {
      if (config['keepdims'] === true || config['data_format'] === 'channels_first') {
        throw unknownLayer(label, 'it must have channels last and not keep dimensions')
      }
      return [{ definition: className === 'GlobalMaxPooling1D' ? maxOverTime(name) : meanOverTime(name) }]
    }
  }
  throw unknownLayer(label, 'there must be a layer of its class here')
}

function recurrentLayer(
  layer: Json,
  label: string,
  name: { readonly name?: string },
  weights: ImportedWeights | undefined,
): Imported[] {
  const config = configOf(layer)
  const network = weights?.networks.find((each) => each.name === config['name'])
  if (network === undefined) {
    throw unknownLayer(label, 'one of the four models must compute it: importWeights imports its cell')
  }
  if (network.reverse) throw unknownLayer(label, 'it must not go backwards')
  const { cellMode, numLayers, numUnits, direction, inputSize } = network.descriptor
  const definition = RECURRENT[cellMode]({ numLayers, numUnits, direction, inputSize, ...name })
  const inner = asRecord(config['layer'])
  const settings = classOf(layer) === 'Bidirectional' && inner !== undefined ? configOf(inner) : config
  if (settings['stateful'] === true) throw unknownLayer(label, 'it must not be stateful')
  const found: Imported[] = [{ definition, network }]
  if (settings['return_sequences'] !== true) found.push({ definition: lastStep() })
  return found
}

/** Variables by place and number in files of Keras 3, by name in older ones. */
async function readVariables(
  { tensors }: WeightFile,
  place: string,
  name: string,
  label: string,
  wanted: readonly (readonly [OwnName, readonly number[] | undefined])[],
): Promise<Tensor<FloatArray>[]> {
  const found: Tensor<FloatArray>[] = []
  for (const [index, [own, shape]] of wanted.entries()) {
    const older = new RegExp(`^(?:model_weights/)?${escaped(name)}/(?:.*/)?${own}(?::0)?$`)
    const numbered = `${place}/vars/${index}`
    const tensor: StoredTensor | undefined =
      tensors.find((each) => each.name === numbered) ?? tensors.find((each) => older.test(each.name))
    if (tensor === undefined)
      throw unknownLayer(label, `its ${own} must be in the file, at ${numbered} or below ${name}`)
    if (shape !== undefined && tensor.shape.join() !== shape.join()) {
      throw unknownLayer(label, `its ${own} must have shape [${shape}]: current shape is [${tensor.shape}]`)
    }
    found.push({ data: await tensor.read(), shape: tensor.shape })
  }
  return found
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** The input of the model: from the description of its layers or its own, or from the rows of the first kernel. */
function inputOf(model: Json, layers: readonly Json[], imported: readonly Imported[]) {
  const [first] = imported
  if (first === undefined || first.definition.input !== undefined) return {}
  const shapes = [
    ...layers.map(configOf).flatMap((config) => [config['batch_shape'], config['batch_input_shape']]),
    configOf(model)['build_input_shape'],
    asRecord(model['build_config'])?.['input_shape'],
  ]
  const known = shapes.find(Array.isArray) as readonly unknown[] | undefined
  // Rows are the last axis but one: a kernel of Conv1D has its time before them.
  const shape = first.values?.[0]?.shape ?? []
  const size = known?.at(-1) ?? (shape.length > 1 ? shape.at(-2) : shape[0])
  return { inputSize: Number(size), isSequence: known === undefined || known.length === 3 }
}

function activationOf(value: unknown, label: string) {
  const known = ['linear', 'tanh', 'sigmoid', 'relu', 'elu', 'softplus', 'softmax'] as const
  const found = known.find((name) => name === (value ?? 'linear'))
  if (found !== undefined) return found
  throw unknownLayer(
    label,
    `its activation must be one of ${known.join(', ')}: current value is ${describeValue(value)}`,
  )
}

function countOf(config: Json, option: string, label: string): number {
  const value = config[option]
  if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number
  throw unknownLayer(label, `${option} must be an integer >= 1: current value is ${describeValue(value)}`)
}

/** A size along time, which Keras writes as a list of one; an absent one is 1. */
function axisOf(config: Json, option: string, label: string): number {
  const value = [config[option] ?? 1].flat()
  if (value.length === 1) return countOf({ [option]: value[0] }, option, label)
  throw unknownLayer(label, `${option} must be of one axis: current value is ${describeValue(config[option])}`)
}

/** A check that `axis` is the last one of an input. Keras 2 counts it from the batch: 2 of [B,T,E], 1 of [B,E]. */
function lastAxisCheck(config: Json, label: string, rule: string): Imported['checkInput'] {
  const [axis, ...others] = [config['axis'] ?? -1].flat()
  if (others.length > 0 || !Number.isInteger(axis)) throw unknownLayer(label, rule)
  return ({ isSequence }) => {
    if (axis !== -1 && axis !== (isSequence ? 2 : 1)) throw unknownLayer(label, rule)
  }
}

function paddingOf<const Known extends string>(config: Json, known: readonly Known[], label: string): Known {
  if ((config['data_format'] ?? 'channels_last') !== 'channels_last')
    throw unknownLayer(label, 'it must have channels last')
  const found = known.find((name) => name === (config['padding'] ?? 'valid'))
  if (found !== undefined) return found
  throw unknownLayer(
    label,
    `padding must be one of ${known.join(', ')}: current value is ${describeValue(config['padding'])}`,
  )
}

function classOf(layer: Json): string {
  return String(layer['class_name'])
}

function configOf(layer: Json): Json {
  return asRecord(layer['config']) ?? {}
}

function asRecord(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
}

function unknownLayer(layer: string, rule: string) {
  return codedRangeError('ERR_UNKNOWN_LAYER', `Cannot import layer ${layer} as ${rule}`, { layer })
}

function notAModel(path: string, rule: string) {
  return codedRangeError('ERR_NOT_A_MODEL', `Cannot import a model as ${path} is none: ${rule}`, { path })
}
