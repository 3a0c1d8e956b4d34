import { checkOptions, FLAG, optional, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import type { WeightInput } from '@cudnn-rnn/interop'
import type { Backend } from '@cudnn-rnn/ops'
import { checkIsBackend } from '@cudnn-rnn/ops/executor'
import type { LayersModel } from '../model/layers_model.js'

const OPTIONS = {
  /**
   * Reads layers that are stateful in Keras, each of whose calls continues the one before: here every call begins with zeros, as
   * after `reset_states()`, and `model.stream()` carries states. Default false: such a layer is refused.
   */
  restarts: optional(FLAG),
}

export interface ImportKerasOptions extends OptionsOf<typeof OPTIONS> {}

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
 *   that does not describe such a model; TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; WeightFileError
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
export async function importKeras(
  backend: Backend,
  input: WeightInput,
  options: ImportKerasOptions = {},
): Promise<LayersModel> {
  const action = 'import a Keras model'
  checkIsBackend(action, backend)
  const { restarts = false } = checkOptions(action, options, OPTIONS)
  const { readKeras } = await import('./read_keras.js')
  return readKeras(backend, input, restarts)
}
