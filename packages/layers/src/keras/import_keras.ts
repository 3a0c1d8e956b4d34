import type { WeightInput } from '@cudnn-rnn/interop'
import type { Backend } from '@cudnn-rnn/ops'
import { checkIsBackend } from '@cudnn-rnn/ops/executor'
import type { LayersModel } from '../model/layers_model.js'

/**
 * A Keras `Sequential` model, or a functional one with its named inputs and outputs, shared layers and states, from a `.keras` file,
 * an `.h5` of a whole model or a `model.json` of TensorFlow.js. `docs/layers.md` lists the layers; pictures [time,height,channels] are
 * sequences of their columns, [T,B,height·channels], and films [time,height,width,channels] are [T,B,height·width·channels].
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
export async function importKeras(backend: Backend, input: WeightInput): Promise<LayersModel> {
  checkIsBackend('import a Keras model', backend)
  const { readKeras } = await import('./read_keras.js')
  return readKeras(backend, input)
}
