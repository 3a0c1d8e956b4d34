import { CanonicalSaveable, type KeyScheme } from './canonical_saveable.js'
import { defaultScheme } from './default_scheme.js'
import type { CanonicalToParams, ParamsToCanonical, ParamVariable } from './param_variable.js'
import type { Naming } from './saveable.js'
import { tf12Scheme } from './tf12_scheme.js'
import { tf13Scheme } from './tf13_scheme.js'

const DEFAULT_NAME = 'params_canonical'

/**
 * `tf.contrib.cudnn_rnn.RNNParamsSaveable`: saves an opaque buffer in canonical form, both biases exact. Several in one
 * {@link Saver} are told apart by their names; an optimizer's slot of the buffer is one more, with the slot as variable.
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
  readonly #schemes: Readonly<Record<Naming, KeyScheme>>

  /**
   * @param paramVariables the first is saved; all of them are restored, as in TensorFlow.
   * @throws RangeError `ERR_NO_VARIABLE`
   */
  constructor(
    paramsToCanonical: ParamsToCanonical,
    canonicalToParams: CanonicalToParams,
    paramVariables: readonly ParamVariable[],
    name = DEFAULT_NAME,
  ) {
    super(paramsToCanonical, canonicalToParams, paramVariables, name)
    this.#schemes = {
      default: defaultScheme(name),
      'tf-1.2': tf12Scheme(name, DEFAULT_NAME),
      'tf-1.3': tf13Scheme(name, DEFAULT_NAME),
    }
  }

  protected override scheme(naming: Naming): KeyScheme {
    return this.#schemes[naming]
  }
}
