import { describeValue, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { checkArguments, codedTypeError, kind, OBJECT } from '@cudnn-rnn/canonical/rules'
import { FLOAT_TENSOR } from '../float_tensor.js'
import { encodeHdf5Variables } from './hdf5_writer.js'

/** The release of Keras whose files these are. */
const KERAS_VERSION = '3.15.1'

const ACTION = 'write a Keras file'
const PATH_IN_FILE = /^[^/\0]+(?:\/[^/\0]+)*$/

const VARIABLES = kind(
  'a Map of paths to tensors of floats',
  (variables): variables is ReadonlyMap<string, Tensor<FloatArray>> => {
    if (!(variables instanceof Map)) return false
    return [...variables].every(
      ([path, tensor]) =>
        typeof path === 'string' && PATH_IN_FILE.test(path) && FLOAT_TENSOR.find(tensor, path) === undefined,
    )
  },
)

/**
 * A `.keras` file for `keras.models.load_model`: a zip of `metadata.json`, `config.json` and `model.weights.h5`. Source:
 * keras/src/saving/saving_lib.py.
 *
 * @param model the description of the model, as `serialize_keras_object` makes it.
 * @param variables by their paths in the weights file, `layers/dense/vars/0` for example.
 * @throws TypeError `ERR_INVALID_ARGUMENT`
 * @example
 * ```ts
 * import { encodeKerasArchive, openWeightFile } from '@cudnn-rnn/rnn/interop'
 *
 * const bias = { data: Float32Array.of(1, 2), shape: [2] }
 * const bytes = await encodeKerasArchive({ class_name: 'Sequential' }, new Map([['layers/dense/vars/1', bias]]))
 * const file = await openWeightFile(bytes)
 * console.log(file.format, file.tensors.map(({ name }) => name)) // keras-archive ['layers/dense/vars/1']
 * await file.close()
 * ```
 */
export async function encodeKerasArchive(
  model: object,
  variables: ReadonlyMap<string, Tensor<FloatArray>>,
): Promise<Uint8Array> {
  checkArguments(ACTION, { model, variables }, { model: OBJECT, variables: VARIABLES })
  const config = jsonText(model)
  // Loaded on first use: it would be a third of the time to import the package.
  const { Uint8ArrayReader, Uint8ArrayWriter, ZipWriter } = await import('@zip.js/zip.js')
  const writer = new ZipWriter(new Uint8ArrayWriter(), { level: 0 })
  const encoder = new TextEncoder()
  const metadata = { keras_version: KERAS_VERSION, date_saved: '1980-01-01@00:00:00' }
  const files = {
    'metadata.json': encoder.encode(JSON.stringify(metadata)),
    'config.json': encoder.encode(config),
    'model.weights.h5': await encodeHdf5Variables(variables),
  }
  for (const [name, bytes] of Object.entries(files)) await writer.add(name, new Uint8ArrayReader(bytes))
  return writer.close()
}

function jsonText(model: object): string {
  try {
    return JSON.stringify(model)
  } catch (cause) {
    const message = `Cannot ${ACTION} as model must be plain JSON: current value is ${describeValue(model)}`
    throw codedTypeError('ERR_INVALID_ARGUMENT', message, { argument: 'model', cause })
  }
}
