import { checkArguments, methods } from '@cudnn-rnn/canonical/rules'
import { type Backend, type BackendTensor, DTYPES } from '@cudnn-rnn/ops'
import { type CanonicalParams, checkDescriptor, paramRegions, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { BACKEND } from '@cudnn-rnn/ops/executor'

/** The used members of a recurrent model; the models of @cudnn-rnn/models have them. */
export interface CanonicalMap {
  readonly descriptor: RnnDescriptor
  canonicalToParams(weights: CanonicalParams['weights'], biases: CanonicalParams['biases']): Promise<BackendTensor>
}

/**
 * A tensor in a model's opaque layout that is 1 where weights are and 0 where biases are: the canonical tensors of 1
 * and 0, sent through the executor's own map. For `decayMask`; the caller disposes it.
 *
 * @example
 * ```ts
 * import { CudnnLSTM, openBackend } from '@cudnn-rnn/rnn'
 * import { Adam, weightDecayMask } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 4, inputSize: 3 })
 * const params = lstm.createParams({ seed: 1 })
 * const mask = await weightDecayMask(backend, lstm) // biases do not decay
 * const optimizer = new Adam([params], { weightDecay: 0.01, decayMask: () => mask })
 * console.log([...await mask.data()].filter((one) => one === 1).length, params.shape) // 112 [144]
 * ```
 */
export async function weightDecayMask(backend: Backend, model: CanonicalMap): Promise<BackendTensor> {
  const MODEL = methods('a model such as new CudnnLSTM(…)', 'canonicalToParams')
  checkArguments('make a decay mask', { backend, model }, { backend: BACKEND, model: MODEL })
  checkDescriptor(model.descriptor)
  const regions = paramRegions(model.descriptor)
  const { array } = DTYPES[backend.dtype]
  const filled = (value: number) => (region: (typeof regions.weights)[number]) => ({
    data: new array(region.size).fill(value),
    shape: region.shape,
  })
  return model.canonicalToParams(regions.weights.map(filled(1)), regions.biases.map(filled(0)))
}
