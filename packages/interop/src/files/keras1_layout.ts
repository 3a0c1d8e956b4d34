import { isJsonRecord, type Json, jsonRecord, zerosLike } from '@cudnn-rnn/canonical/rules'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { unsupported } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'

/** `lstm_1_W_i`: the layer, the kind of weights, and the gate if each gate has its own. */
const NAME = /^(.*?)([^/]+)_([WUb])(?:_([icfozrh]))?(?::0)?$/
/** Before Keras 1 weights have numbers alone. */
const UNNAMED = /(?:^|\/)layer_\d+\/param_\d+$/
const KERNEL = /(?:^|[/_])kernel(?::0)?$/
const OWN_NAMES = new Map([
  ['W', 'kernel'],
  ['U', 'recurrent_kernel'],
  ['b', 'bias'],
])
/** Gates in the order of Keras 2. */
const GATES = ['ifco', 'zrh']

const WITHOUT_EFFECT = ['init', 'inner_init', 'forget_bias_init', 'weights'].map((name) => [name, undefined] as const)
/** Options by their names in Keras 2; undefined for those without effect in inference. */
const OPTIONS: ReadonlyMap<string, string | undefined> = new Map([
  ...WITHOUT_EFFECT,
  ['output_dim', 'units'],
  ['inner_activation', 'recurrent_activation'],
  ['bias', 'use_bias'],
  ['dropout_W', 'dropout'],
  ['dropout_U', 'recurrent_dropout'],
])
const OPTIONS_OF_EMBEDDING: ReadonlyMap<string, undefined> = new Map([...WITHOUT_EFFECT, ['dropout', undefined]])

/**
 * A file as Keras 2 would write it over TensorFlow: of Keras 1, gates beside each other, present names of variables and
 * options; of Theano, kernels turned. Source: tensorflow/python/keras/saving/hdf5_format.py and Keras 2's
 * engine/saving.py, preprocess_weights_for_loading.
 *
 * @param backend under which Keras wrote it, if the file has the name
 * @throws WeightFileError `ERR_WEIGHTS_UNSUPPORTED` for weights of Keras before 1.0, which have no names
 */
export function ofKeras2(written: WeightFile, backend?: string): WeightFile {
  const file = backend === 'theano' ? { ...written, tensors: written.tensors.map(turned) } : written
  const { path, tensors, kerasVersion = '1' } = file
  if (tensors.some(({ name }) => UNNAMED.test(name))) {
    throw unsupported(
      path,
      'weights must have names: these are of Keras before 1.0. Load them there, and write model.get_weights() by numpy.savez',
    )
  }
  if (!/^[01](?:\.|$)/.test(kerasVersion)) return file
  const embeddings = new Set<unknown>()
  const kerasModel = presentModel(file.kerasModel, embeddings)
  const groups = new Map<string, Map<string, StoredTensor>>()
  const found: StoredTensor[] = []
  for (const tensor of tensors) {
    const [, scope = '', layer = '', kind = '', gate] = NAME.exec(tensor.name) ?? []
    const own = embeddings.has(layer) ? 'embeddings' : OWN_NAMES.get(kind)
    const name = `${scope}${layer}/${own}`
    if (gate !== undefined) groups.set(name, (groups.get(name) ?? new Map()).set(gate, tensor))
    else found.push(own === undefined ? tensor : { ...tensor, name })
  }
  for (const [name, parts] of groups) {
    const order = GATES.find((gates) => gates.length === parts.size && [...gates].every((gate) => parts.has(gate)))
    const sorted = [...(order ?? '')].flatMap((gate) => parts.get(gate) ?? [])
    found.push(...(sorted.length > 0 && haveOneShape(sorted) ? [besideEachOther(name, sorted)] : parts.values()))
  }
  return {
    ...file,
    ...(groups.size > 0 && { kerasVersion: file.kerasVersion ?? '1.0' }),
    tensors: found,
    ...(kerasModel !== undefined && { kerasModel }),
  }
}

/** The description with the options of Keras 2; `embeddings` receives the names of its embeddings. */
function presentModel(value: unknown, embeddings: Set<unknown>): unknown {
  if (Array.isArray(value)) return value.map((each) => presentModel(each, embeddings))
  if (!isJsonRecord(value)) return value
  const isEmbedding = value['class_name'] === 'Embedding'
  const names = isEmbedding ? OPTIONS_OF_EMBEDDING : OPTIONS
  if (isEmbedding) embeddings.add(jsonRecord(value['config'])?.['name'])
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const config = key === 'config' ? jsonRecord(each) : undefined
      return [key, presentModel(config === undefined ? each : renamed(config, names), embeddings)]
    }),
  )
}

function renamed(config: Json, names: ReadonlyMap<string, string | undefined>): Json {
  const present = Object.entries(config).map(
    ([name, value]) => [names.has(name) ? names.get(name) : name, value] as const,
  )
  return Object.fromEntries(present.filter(([name]) => name !== undefined))
}

function haveOneShape(parts: readonly StoredTensor[]): boolean {
  return parts.every(({ shape }) => String(shape) === String(parts[0]?.shape))
}

/** Convolutions of Theano read the taps of a kernel [...taps,I,F] from the last to the first; other tensors stay. */
function turned(tensor: StoredTensor): StoredTensor {
  const { name, shape, read } = tensor
  if (shape.length < 3 || !KERNEL.test(name)) return tensor
  const tap = (shape.at(-2) ?? 0) * (shape.at(-1) ?? 0)
  return {
    ...tensor,
    read: async () => {
      const data = await read()
      const all = zerosLike(data, data.length)
      for (let at = 0; at < data.length; at += tap) all.set(data.subarray(at, at + tap), data.length - at - tap)
      return all
    },
  }
}

/** Matrices, or vectors, of one shape side by side. */
function besideEachOther(name: string, parts: readonly StoredTensor[]): StoredTensor {
  const { shape = [], dtype = '' } = parts[0] ?? {}
  const width = shape.at(-1) ?? 0
  const read = async (): Promise<FloatArray> => {
    const all: FloatArray[] = []
    for (const part of parts) all.push(await part.read())
    const size = all.reduce((sum, { length }) => sum + length, 0)
    const whole = zerosLike(all[0], size)
    for (const [index, data] of all.entries()) {
      for (let row = 0; row * width < data.length; row++) {
        whole.set(data.subarray(row * width, (row + 1) * width), (row * all.length + index) * width)
      }
    }
    return whole
  }
  return { name, shape: [...shape.slice(0, -1), parts.length * width], dtype, read }
}
