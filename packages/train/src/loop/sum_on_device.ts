import { type Backend, type BackendTensor, DTYPES, isBackendTensor } from '@cudnn-rnn/backend'
import type { Trainable } from '../optimizers/trainable.js'
import type { AllReduceOptions, TensorSum } from './communicator.js'
import type { StepMeans } from './training_step.js'

/**
 * The means over all ranks, Σ wᵣ·meanᵣ with wᵣ = weightᵣ/total, by calls to the executor. Takes over the losses of `own`.
 *
 * @param own of this rank; without batches its gradients are empty and its weight is 0
 * @param total weight of all ranks; where it is 0 the means are 0
 */
export async function sumOnDevice(
  backend: Backend,
  variables: readonly Trainable[],
  tensorSum: TensorSum,
  own: StepMeans & { readonly weight: number },
  total: number,
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
    const loss = zeros([])
    for (const { loss: each, weight } of own.losses) {
      const scalar = isBackendTensor(each) ? each : { data: array.of(each), shape: [] }
      // A batch that does not count may be NaN.
      if (weight > 0) backend.ops.accumulate(loss, scalar, weight / total)
    }
    const gradients = variables.map(({ value }) => zeros(value.shape, value.layout))
    if (own.weight > 0) {
      for (const [index, gradient] of gradients.entries()) {
        backend.ops.accumulate(gradient, own.gradients[index], own.weight / total)
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
