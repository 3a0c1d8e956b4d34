import { entryOf } from '@cudnn-rnn/arguments'
import {
  type CanonicalParams,
  canonicalToKeras,
  type FloatArray,
  numDirections,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { encodeKerasArchive } from '@cudnn-rnn/interop'
import { noExport } from './export_error.js'
import type { Layer } from './layer.js'
import { RecurrentLayer } from './recurrent.js'
import { takesLastOfBackward } from './sequence_pooling.js'
import type { Signal } from './signal.js'
import { TimeDistributedLayer } from './time_distributed.js'
import type { WholeModel } from './whole_model.js'

type Json = Readonly<Record<string, unknown>>

/** A layer of Keras, with its variables by their paths below its own. */
interface KerasLayer {
  readonly className: string
  readonly config: Json
  readonly variables: Readonly<Record<string, Tensor<FloatArray>>>
}

/** In snake case, as Keras names the places of layers in a file. */
const PLACES: ReadonlyMap<string, string> = new Map([
  ['Embedding', 'embedding'],
  ['LSTM', 'lstm'],
  ['GRU', 'gru'],
  ['SimpleRNN', 'simple_rnn'],
  ['Bidirectional', 'bidirectional'],
  ['Dense', 'dense'],
  ['Activation', 'activation'],
  ['Dropout', 'dropout'],
  ['LayerNormalization', 'layer_normalization'],
  ['GlobalAveragePooling1D', 'global_average_pooling1d'],
  ['GlobalMaxPooling1D', 'global_max_pooling1d'],
  ['TimeDistributed', 'time_distributed'],
  ['Conv1D', 'conv1d'],
  ['MaxPooling1D', 'max_pooling1d'],
  ['ReLU', 're_lu'],
])

const CLASS_NAMES = { lstm: 'LSTM', gru: 'GRU', rnn_tanh: 'SimpleRNN', rnn_relu: 'SimpleRNN' } as const
const OWN_NAMES = ['kernel', 'recurrent_kernel', 'bias'] as const

/**
 * A model as a `.keras` file of a `Sequential` for `keras.models.load_model`; in Keras the batch comes first.
 *
 * @throws RangeError `ERR_NO_EXPORT`, naming the layer that has no counterpart: `concat`, `add`, `multiply`, `reverse`,
 *   `attentionPooling`, `conv2d`, `maxPool2d`, `rnn(cell)`, a `lastStep` that does not follow a recurrent layer, and one of the sequence after a
 *   bidirectional one; `ERR_UNSUPPORTED_BY_FRAMEWORK`
 */
export async function encodeKeras(model: WholeModel): Promise<Uint8Array> {
  const { input, executor } = model
  const dtype = { module: 'keras', class_name: 'DTypePolicy', config: { name: executor.dtype }, registered_name: null }
  const batchShape = batchShapeOf(input)
  const inputDtype = input.features === null ? 'int32' : executor.dtype
  const layers: Json[] = [
    described('InputLayer', { batch_shape: batchShape, dtype: inputDtype, sparse: false, name: 'input_layer' }),
  ]
  const variables = new Map<string, Tensor<FloatArray>>()
  const counts = new Map<string, number>()
  for (const layer of await kerasLayers(model.layers)) {
    const base = entryOf(PLACES, layer.className)
    const count = counts.get(base) ?? 0
    counts.set(base, count + 1)
    const place = count === 0 ? base : `${base}_${count}`
    layers.push(described(layer.className, { name: place, dtype, ...layer.config }))
    for (const [path, tensor] of Object.entries(layer.variables)) variables.set(`layers/${place}/${path}`, tensor)
  }
  const config = { name: 'sequential', trainable: true, dtype, layers, build_input_shape: batchShape }
  const root = { ...described('Sequential', config), module: 'keras', build_config: { input_shape: batchShape } }
  return encodeKerasArchive(root, variables)
}

function described(className: string, config: Json): Json {
  return { module: 'keras.layers', class_name: className, config, registered_name: null }
}

function batchShapeOf({ isSequence, features }: Signal): (number | null)[] {
  return [null, ...(isSequence ? [null] : []), ...(features === null ? [] : [features])]
}

async function kerasLayers(layers: readonly Layer[]): Promise<KerasLayer[]> {
  const found: KerasLayer[] = []
  for (const [index, layer] of layers.entries()) {
    if (layer instanceof RecurrentLayer) {
      const isLast = layers[index + 1]?.kind === 'lastStep'
      found.push(...(await recurrentLayers(layer, isLast)))
    } else if (!isLastState(layer, layers[index - 1])) {
      found.push(await plainLayer(layer))
    }
  }
  return found
}

/** Whether `return_sequences=False` of the layer before is this layer. */
function isLastState(layer: Layer, before: Layer | undefined): boolean {
  if (layer.kind !== 'lastStep' || !(before instanceof RecurrentLayer)) return false
  return before.output.reversedFrom === undefined || takesLastOfBackward(layer)
}

async function recurrentLayers({ name, model, variables }: RecurrentLayer, isLast: boolean): Promise<KerasLayer[]> {
  const { descriptor } = model
  if (descriptor.cellClip !== undefined) throw noExport('Keras', { name, kind: `${model.rnnMode} with cellClip` })
  const canonical = (await model.paramsToCanonical(variables[0])) as CanonicalParams<FloatArray>
  const weights = canonicalToKeras(descriptor, canonical)
  const { cellMode, numLayers, numUnits, dropout } = descriptor
  const className = CLASS_NAMES[cellMode]
  const directions = numDirections(descriptor)
  return Array.from({ length: numLayers }, (_, layer) => {
    const own: Json = {
      units: numUnits,
      activation: cellMode === 'rnn_relu' ? 'relu' : 'tanh',
      ...(className !== 'SimpleRNN' && { recurrent_activation: 'sigmoid' }),
      ...(cellMode === 'gru' && { reset_after: true }),
      // Between layers here, before a layer's input there; in training only.
      dropout: layer === 0 ? 0 : dropout,
      return_sequences: !(isLast && layer === numLayers - 1),
    }
    const paths = (pseudoLayer: number, side: string) =>
      OWN_NAMES.map((key, index) => [`${side}cell/vars/${index}`, weights[pseudoLayer][key]] as const)
    if (directions === 1) return { className, config: own, variables: Object.fromEntries(paths(layer, '')) }
    const side = (prefix: string, goBackwards: boolean) =>
      described(className, { name: `${prefix}_${className.toLowerCase()}`, ...own, go_backwards: goBackwards })
    return {
      className: 'Bidirectional',
      config: { merge_mode: 'concat', layer: side('forward', false), backward_layer: side('backward', true) },
      variables: Object.fromEntries([
        ...paths(2 * layer, 'forward_layer/'),
        ...paths(2 * layer + 1, 'backward_layer/'),
      ]),
    }
  })
}

async function plainLayer(layer: Layer): Promise<KerasLayer> {
  const { config } = layer.definition
  const read = await Promise.all(layer.variables.map(({ value }) => value.read()))
  const variables = Object.fromEntries(
    read.map(({ data, shape }, index) => [`vars/${index}`, { data: data.slice() as FloatArray, shape }]),
  )
  if (layer instanceof TimeDistributedLayer) {
    const inner = await plainLayer(layer.inner)
    const name = entryOf(PLACES, inner.className)
    const own = Object.entries(inner.variables).map(([path, tensor]) => [`layer/${path}`, tensor])
    return {
      className: 'TimeDistributed',
      config: { layer: described(inner.className, { name, ...inner.config }) },
      variables: Object.fromEntries(own),
    }
  }
  switch (layer.kind) {
    case 'embedding':
      return {
        className: 'Embedding',
        config: { input_dim: config['size'], output_dim: config['units'], mask_zero: config['maskZero'] !== undefined },
        variables,
      }
    case 'dense':
      return { className: 'Dense', config: { units: config['units'], activation: config['activation'] }, variables }
    case 'conv1d': {
      const { filters, kernelSize, strides, padding, activation } = config
      if (typeof padding === 'number')
        throw noExport('Keras', { name: layer.name, kind: 'conv1d with a number of zeros' })
      const sizes = { filters, kernel_size: [kernelSize], strides: [strides], padding, activation }
      return { className: 'Conv1D', config: sizes, variables }
    }
    case 'maxPool1d': {
      const { poolSize, strides, padding } = config
      return { className: 'MaxPooling1D', config: { pool_size: [poolSize], strides: [strides], padding }, variables }
    }
    case 'activation':
      if (config['maximum'] !== undefined) {
        return { className: 'ReLU', config: { max_value: config['maximum'] }, variables }
      }
      return { className: 'Activation', config: { activation: config['activation'] }, variables }
    case 'dropout':
      return { className: 'Dropout', config: { rate: config['rate'] }, variables }
    case 'layerNorm':
      return { className: 'LayerNormalization', config: { axis: -1, epsilon: config['epsilon'] }, variables }
    case 'meanOverTime':
      return { className: 'GlobalAveragePooling1D', config: {}, variables }
    case 'maxOverTime':
      return { className: 'GlobalMaxPooling1D', config: {}, variables }
  }
  throw noExport('Keras', layer)
}
