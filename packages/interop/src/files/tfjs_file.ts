import { type Json, jsonRecord } from '@cudnn-rnn/canonical/rules'
import { describeValue } from '@cudnn-rnn/canonical'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { checkedCount, decodeElements, ELEMENT_TYPES, type ElementTypeName } from '../elements.js'
import { corrupt, unsupported } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import { parseBoundedJson } from './bounded_json.js'
import { closingOnError } from './closing_on_error.js'
import { ExternalFiles } from './external_files.js'
import { CONFIG_LIMITS } from './keras_files.js'
import { TensorList } from './tensor_list.js'

/** Element types of TensorFlow.js, by its names; the others have no elements of one size. */
const DTYPES: readonly ElementTypeName[] = ['float32', 'int32', 'bool']

/**
 * A `model.json` of TensorFlow.js: the configuration of a Keras 2 model, and for each group of weights the files beside it that
 * have its elements, one after another. Source: tfjs-core/src/io/{types,io_utils}.ts.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`; `ERR_WEIGHTS_NOT_FOUND` without one of these files; `ERR_WEIGHTS_UNSUPPORTED`
 *   for a model of another kind, quantized weights, or a model that was given as bytes
 */
export async function openTfjsModel(source: ByteSource, isPath: boolean): Promise<WeightFile> {
  const { name: path, size } = source
  const parsed = recordOf(parseBoundedJson(path, 'it', await source.read(0, size), CONFIG_LIMITS))
  const topology = recordOf(parsed['modelTopology'])
  const model = recordOf(topology['model_config'] ?? topology)
  if (typeof model['class_name'] !== 'string') {
    throw unsupported(
      path,
      'a model.json must be of the format layers-model: a graph-model has no layers. tensorflowjs_converter --input_format keras writes one of a Keras model',
    )
  }
  const groups = parsed['weightsManifest']
  if (!Array.isArray(groups)) throw corrupt(path, 'its weightsManifest must be a list')
  const external = new ExternalFiles(path, isPath)
  const list = new TensorList(path, size)
  await closingOnError(external, async () => {
    for (const group of groups) await addGroup(path, external, list, recordOf(group))
  })
  const version = topology['keras_version']
  return {
    format: 'keras-json',
    path,
    heldBytes: size + external.heldBytes,
    tensors: withoutModel(list.tensors, recordOf(model['config'])['name']),
    kerasModel: model,
    ...(typeof version === 'string' && { kerasVersion: version }),
    close: async () => {
      await external.close()
      await source.close()
    },
  }
}

async function addGroup(path: string, external: ExternalFiles, list: TensorList, { paths, weights }: Json) {
  if (!Array.isArray(paths) || !Array.isArray(weights) || !paths.every((each) => typeof each === 'string')) {
    throw corrupt(path, 'each group of its weightsManifest must have paths and weights')
  }
  const shards: ByteSource[] = []
  for (const each of paths) shards.push(await external.open(each))
  const room = shards.reduce((sum, shard) => sum + shard.size, 0)
  let end = 0
  for (const { name, dtype, shape, quantization } of weights.map(recordOf)) {
    if (typeof name !== 'string' || !Array.isArray(shape))
      throw corrupt(path, 'each weight must have a name and a shape')
    const type = DTYPES.find((each) => each === dtype)
    if (type === undefined || quantization !== undefined) {
      const words =
        quantization === undefined
          ? describeValue(dtype)
          : `quantized to ${describeValue(recordOf(quantization)['dtype'])}`
      throw unsupported(
        path,
        `weights must be float32, as tensorflowjs_converter writes them by default: ${name} is ${words}`,
      )
    }
    const begin = end
    const { bytes } = ELEMENT_TYPES[type]
    const length = checkedCount(path, name, shape, room / bytes) * bytes
    end += length
    const read = async () => decodeElements(path, name, type, await rangeOf(shards, begin, length))
    list.add({ name, shape, dtype: type, read })
  }
  if (end !== room) throw corrupt(path, `its weights have ${end} bytes: there are ${room} in ${paths.join(', ')}`)
}

/** Names as Keras 2 has them: Keras 3 puts a Sequential's before its variables'. */
function withoutModel(tensors: readonly StoredTensor[], model: unknown): readonly StoredTensor[] {
  const prefix = typeof model === 'string' ? `${model}/` : ''
  if (!tensors.every(({ name }) => name.startsWith(prefix))) return tensors
  return tensors.map((tensor) => ({ ...tensor, name: tensor.name.slice(prefix.length) }))
}

/** Bytes of files that follow each other. */
async function rangeOf(shards: readonly ByteSource[], begin: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  let start = 0
  for (const shard of shards) {
    const [from, to] = [Math.max(begin, start), Math.min(begin + length, start + shard.size)]
    if (from < to) bytes.set(await shard.read(from - start, to - from), from - begin)
    start += shard.size
  }
  return bytes
}

/** A missing object has no fields, which the reader of each field refuses. */
function recordOf(value: unknown): Json {
  return jsonRecord(value) ?? {}
}
