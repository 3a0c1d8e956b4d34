import { layoutKey } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { Backend } from '@cudnn-rnn/ops'
import { type NumericTensor, RNNParamsSaveable, type Saveable, TensorSaveable } from '@cudnn-rnn/saveable'
import type { Trainable } from '@cudnn-rnn/train'
import type { RecurrentModel } from '../kinds/recurrent.js'

/**
 * How variables are saved: plain ones under their names, the opaque buffers of `models` canonically.
 *
 * @throws RangeError `ERR_UNKNOWN_LAYOUT` for an opaque buffer of a model that is not among `models`
 */
export function saveablesOf(
  backend: Backend,
  tensors: readonly Trainable[],
  models: readonly RecurrentModel[],
): Saveable[] {
  return tensors.map(({ name, value }) => {
    const variable = { name, value, assign: (tensor: never) => backend.ops.assign(value, tensor) }
    if (value.layout === undefined) return TensorSaveable.of(variable)
    const model = models.find(({ descriptor }) => layoutKey(descriptor) === value.layout)
    if (model !== undefined) {
      return new RNNParamsSaveable(model.paramsToCanonical, model.canonicalToParams, [variable], name)
    }
    throw codedRangeError(
      'ERR_UNKNOWN_LAYOUT',
      `Cannot save ${name} as the model that it belongs to must be among models: current number of models is ${models.length}`,
      { name },
    )
  })
}

/** A tensor that is saved and not restored. */
export function savedOnly(name: string, tensor: NumericTensor): Saveable {
  return new TensorSaveable(
    name,
    () => tensor,
    () => undefined,
  )
}
