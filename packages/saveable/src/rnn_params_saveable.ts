import { CanonicalSaveable } from './canonical_saveable.js'
import type { CanonicalToParams, ParamsToCanonical, ParamVariable } from './param_variable.js'
import type { SavedNetwork } from './parsed_key.js'
import type { Naming } from './saveable.js'
import { DEFAULT_NAME } from './storage_form.js'

/**
 * `tf.contrib.cudnn_rnn.RNNParamsSaveable`: saves an opaque buffer in canonical form, both biases exact. Several in one
 * {@link Saver} are distinguished by their names. An optimizer's slot of the buffer is another saveable, with the slot as variable.
 *
 * @example
 * ```ts no-run
 * import { CudnnLSTM } from '@cudnn-rnn/models'
 * import { openReferenceBackend } from '@cudnn-rnn/reference'
 * import { RNNParamsSaveable, Saver } from '@cudnn-rnn/saveable'
 *
 * const lstm = new CudnnLSTM(openReferenceBackend(), { numLayers: 1, numUnits: 4, inputSize: 2 })
 * const params = lstm.createParams()
 * const saveable = new RNNParamsSaveable(lstm.paramsToCanonical, lstm.canonicalToParams, [params], 'encoder')
 * await new Saver([saveable]).save('run/model', { globalStep: 100 })
 * ```
 */
export class RNNParamsSaveable extends CanonicalSaveable {
  /**
   * @param paramVariables the first is saved; all of them are restored, as in TensorFlow.
   * @throws TypeError `ERR_INVALID_ARGUMENT`; RangeError `ERR_NO_VARIABLE`
   */
  constructor(
    paramsToCanonical: ParamsToCanonical,
    canonicalToParams: CanonicalToParams,
    paramVariables: readonly ParamVariable[],
    name = DEFAULT_NAME,
  ) {
    super(paramsToCanonical, canonicalToParams, paramVariables, name)
  }

  protected override savedNetwork(naming: Naming): SavedNetwork {
    return { form: naming, name: this.name }
  }
}
