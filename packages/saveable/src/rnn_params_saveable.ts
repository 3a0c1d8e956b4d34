import { checkArguments, fields, integerFrom, listOf, nullable, OBJECT, optional } from '@cudnn-rnn/canonical/rules'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { CanonicalSaveable } from './canonical_saveable.js'
import type { SavedNetwork } from './parsed_key.js'
import type { Naming } from './saveable.js'

const RESTORE = {
  restoredTensors: listOf(fields({ data: OBJECT, shape: listOf(integerFrom(0)) }, 'a tensor')),
  restoredShapes: optional(nullable(listOf(listOf(integerFrom(0))))),
}

/**
 * `tf.contrib.cudnn_rnn.RNNParamsSaveable`: saves an opaque buffer in canonical form, both biases exact. Several in one
 * {@link Saver} are distinguished by their names. An optimizer's slot of the buffer is another saveable, with the slot as variable.
 *
 * @example
 * ```ts no-run
 * import { CudnnLSTM, openBackend, RNNParamsSaveable, Saver } from '@cudnn-rnn/rnn'
 *
 * const lstm = new CudnnLSTM(await openBackend('reference'), { numLayers: 1, numUnits: 4, inputSize: 2 })
 * const params = lstm.createParams()
 * const saveable = new RNNParamsSaveable(lstm.paramsToCanonical, lstm.canonicalToParams, [params], 'encoder')
 * await new Saver([saveable]).save('run/model', { globalStep: 100 })
 * ```
 */
export class RNNParamsSaveable extends CanonicalSaveable {
  /**
   * `RNNParamsSaveable.restore`: assigns tensors that were read elsewhere to all variables, without a {@link Saver}.
   *
   * @param restoredTensors the canonical tensors: all weights, then all biases, each in canonical order.
   * @param _restoredShapes not read, as in TensorFlow: elements are counted.
   * @throws RangeError `ERR_CANONICAL_COUNT`, `ERR_CANONICAL_SIZE`; TypeError `ERR_INVALID_ARGUMENT`, `ERR_CANONICAL_DTYPE`;
   *   in each case the variables keep their values
   */
  async restore(
    restoredTensors: readonly Tensor<FloatArray>[],
    _restoredShapes?: readonly (readonly number[])[] | null,
  ): Promise<void> {
    const given = { restoredTensors, restoredShapes: _restoredShapes }
    const { restoredTensors: tensors } = checkArguments(`restore ${this.name}`, given, RESTORE)
    await this.assignInOrder(tensors)
  }

  protected override savedNetwork(naming: Naming): SavedNetwork {
    return { form: naming, name: this.name }
  }
}
