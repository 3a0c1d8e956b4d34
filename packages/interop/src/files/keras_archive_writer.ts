import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { Uint8ArrayReader, Uint8ArrayWriter, ZipWriter } from '@zip.js/zip.js'
import { encodeHdf5Variables } from './hdf5_writer.js'

/** The release of Keras whose files these are. */
const KERAS_VERSION = '3.15.1'

/**
 * A `.keras` file for `keras.models.load_model`: a zip of `metadata.json`, `config.json` and `model.weights.h5`. Source:
 * keras/src/saving/saving_lib.py.
 *
 * @param model the description of the model, as `serialize_keras_object` makes it.
 * @param variables by their paths in the weights file, `layers/dense/vars/0` for example.
 */
export async function encodeKerasArchive(
  model: unknown,
  variables: ReadonlyMap<string, Tensor<FloatArray>>,
): Promise<Uint8Array> {
  const writer = new ZipWriter(new Uint8ArrayWriter(), { level: 0 })
  const text = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))
  const metadata = { keras_version: KERAS_VERSION, date_saved: '1980-01-01@00:00:00' }
  const files = {
    'metadata.json': text(metadata),
    'config.json': text(model),
    'model.weights.h5': await encodeHdf5Variables(variables),
  }
  for (const [name, bytes] of Object.entries(files)) await writer.add(name, new Uint8ArrayReader(bytes))
  return writer.close()
}
