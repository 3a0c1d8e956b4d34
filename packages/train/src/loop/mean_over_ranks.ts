import { type Backend, type BackendTensor, DTYPES, isBackendTensor } from '@cudnn-rnn/ops'
import { checkShape } from '@cudnn-rnn/ops/executor'
import { checkGradientCount, type Trainable } from '../optimizers/trainable.js'
import type { AllReduceOptions, TensorSum } from './communicator.js'
import type { StepMeans } from './training_step.js'

/** The calls that all ranks make together in a step. */
export interface RankCalls {
  /** The weight of all ranks. @param weight of this one */
  totalWeight(weight: number): Promise<number>
  readonly tensorSum: TensorSum
}

/**
 * The means over all ranks, Σ wᵣ·meanᵣ with wᵣ = weightᵣ/total, by calls to the executor. Takes over the losses of `own`.
 * Checks and allocates before the collective call: a failure after that would leave the others waiting.
 *
 * The gradients of this rank become all ranks', in their own memory: a second set would be written, and read again, in every
 * step. Only if one tensor is the gradient of two variables, or none counts, are the results new tensors.
 *
 * @param own of this rank; without batches its gradients are empty and its weight is 0
 * @throws RangeError `ERR_GRADIENT_COUNT`, `ERR_SHAPE`
 */
export async function meanOverRanks(
  backend: Backend,
  variables: readonly Trainable[],
  { totalWeight, tensorSum }: RankCalls,
  own: StepMeans & { readonly weight: number },
  wire: AllReduceOptions['wire'],
): Promise<StepMeans> {
  const { array } = DTYPES[backend.dtype]
  const made: BackendTensor[] = []
  const zeros = (shape: readonly number[], layout?: string) => {
    const tensor = backend.zeros(shape, { layout })
    made.push(tensor)
    return tensor
  }
  try {
    if (own.weight > 0) checkGradients(own.gradients, variables)
    const loss = zeros([])
    const inPlace = own.weight > 0 && new Set(own.gradients).size === own.gradients.length
    const gradients = inPlace ? own.gradients : variables.map(({ value }) => zeros(value.shape, value.layout))
    // The passes are computed here where nothing is queued as a whole, so that their failure is known to the other ranks.
    if (backend.steps === undefined) for (const gradient of own.gradients) await gradient.read()
    const total = await totalWeight(own.weight)
    for (const { loss: each, weight } of own.losses) {
      const scalar = isBackendTensor(each) ? each : { data: array.of(each), shape: [] }
      // A batch that does not count may be NaN.
      if (weight > 0) backend.ops.accumulate(loss, scalar, weight / total)
    }
    if (own.weight > 0) {
      for (const [index, gradient] of gradients.entries()) {
        const share = own.weight / total
        // g + (w - 1)·g is w·g: executors have no other operation that scales in place.
        backend.ops.accumulate(gradient, own.gradients[index], inPlace ? share - 1 : share)
      }
    }
    if (wire === undefined) await tensorSum([...gradients, loss])
    else {
      await tensorSum(gradients, { wire })
      await tensorSum([loss])
    }
    return { losses: [{ loss, weight: 1 }], gradients }
  } catch (error) {
    for (const tensor of made) tensor.dispose()
    throw error
  } finally {
    for (const { loss } of own.losses) if (isBackendTensor(loss)) loss.dispose()
  }
}

function checkGradients(gradients: readonly BackendTensor[], variables: readonly Trainable[]): void {
  checkGradientCount('add gradients', gradients, variables)
  for (const [index, { name, value }] of variables.entries()) {
    checkShape('add gradients', `gradient of ${name}`, gradients[index].shape, value.shape)
  }
}
