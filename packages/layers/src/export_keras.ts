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
    const base = placeOf(layer.className)
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
  const read = await Promise.all(layer.variables.map(({ value }) => value.read()))
  const variables = Object.fromEntries(
    read.map(({ data, shape }, index) => [`vars/${index}`, { data: data.slice() as FloatArray, shape }]),
  )
  if (layer instanceof TimeDistributedLayer) {
    const inner = await plainLayer(layer.inner)
    const name = placeOf(inner.className)
    const own = Object.entries(inner.variables).map(([path, tensor]) => [`layer/${path}`, tensor])
    return {
      className: 'TimeDistributed',
      config: { layer: described(inner.className, { name, ...inner.config }) },
      variables: Object.fromEntries(own),
    }
  }
  const [className, options] = counterpartOf(layer)
  return { className, config: options, variables }
}

/** The class of Keras that computes a layer, and its options. */
function counterpartOf({ name, kind, definition: { config } }: Layer): readonly [className: string, config: Json] {
  const { activation, maximum, padding } = config
  switch (kind) {
    case 'embedding': {
      const { size, units, maskZero } = config
      return ['Embedding', { input_dim: size, output_dim: units, mask_zero: maskZero !== undefined }]
    }
    case 'dense':
      return ['Dense', { units: config['units'], activation }]
    case 'conv1d': {
      const { filters, kernelSize, strides } = config
      if (typeof padding === 'number') throw noExport('Keras', { name, kind: 'conv1d with a number of zeros' })
      return ['Conv1D', { filters, kernel_size: [kernelSize], strides: [strides], padding, activation }]
    }
    case 'maxPool1d':
      return ['MaxPooling1D', { pool_size: [config['poolSize']], strides: [config['strides']], padding }]
    case 'activation':
      return maximum === undefined ? ['Activation', { activation }] : ['ReLU', { max_value: maximum }]
    case 'dropout':
      return ['Dropout', { rate: config['rate'] }]
    case 'layerNorm':
      return ['LayerNormalization', { axis: -1, epsilon: config['epsilon'] }]
    case 'meanOverTime':
      return ['GlobalAveragePooling1D', {}]
    case 'maxOverTime':
      return ['GlobalMaxPooling1D', {}]
  }
  throw noExport('Keras', { name, kind })
}

/** In snake case, as Keras names the places of layers in a file: `re_lu`, `max_pooling1d`. */
function placeOf(className: string): string {
  const words = className.replace(/(.)([A-Z][a-z]+)/g, '$1_$2').replace(/([a-z])([A-Z])/g, '$1_$2')
  return words.toLowerCase()
}
