import { type Json, jsonRecord, uniqueKerasName } from '@cudnn-rnn/arguments'
import type { Backend } from '@cudnn-rnn/backend'
import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { openWeightFile, type StoredTensor, type WeightFile, type WeightInput } from '@cudnn-rnn/interop'
import { chainOf, type FileLayer, type MaskAt, masksOf, notAModel, RECURRENT_CLASSES } from './keras_chain.js'
import { KerasOptions, unknownLayer } from './keras_options.js'
import {
  assigning,
  type Made,
  type Networks,
  networksIn,
  type RecurrentPlan,
  recurrentLayers,
  recurrentPlan,
} from './keras_recurrent.js'
import { KERAS_ROWS, type KerasVariable, type PlannedLayer } from './keras_rows.js'
import type { Layer, LayerDefinition } from './layer.js'
import { SequentialModel } from './sequential_model.js'
import type { Signal } from './signal.js'
import { timeDistributed } from './time_distributed.js'

const LAYERS = [...KERAS_ROWS.keys(), ...RECURRENT_CLASSES, 'TimeDistributed', 'InputLayer']

/** A layer that is checked, before anything is read. */
interface Planned extends Omit<PlannedLayer, 'layers'> {
  /** For a recurrent layer, made of its network. */
  readonly recurrent?: RecurrentPlan
  readonly layers: readonly LayerDefinition[]
  readonly stored: readonly StoredTensor[]
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
    const networks: Networks = planned.some(({ recurrent }) => recurrent !== undefined)
      ? await networksIn(file)
      : new Map()
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

/** Versions of Keras without TensorFlow's own. */
const STANDALONE = /^(?:[01]\.|2\.[0-3]\.\d+$)/

function planned1(layer: FileLayer, input: Signal, variables: VariablesByName, at: MaskAt, wrapper?: string): Planned {
  const { className, config, place } = layer
  // Older files group weights by the layers of the model: those of a wrapped one are under its wrapper.
  const group = wrapper ?? config['name']
  const options = new KerasOptions(className, config, group)
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

async function madeOf(backend: Backend, planned: Planned, networks: Networks): Promise<Made[]> {
  if (planned.recurrent !== undefined) return recurrentLayers(backend, planned.recurrent, networks)
  const stored: Tensor<FloatArray>[] = []
  for (const { shape, read } of planned.stored) stored.push({ data: await read(), shape })
  const values = planned.values?.(stored) ?? stored
  const [first, ...rest] = planned.layers
  if (first === undefined) return []
  return [assigning(backend, first, values), ...rest.map((definition) => ({ definition }))]
}
