import { zip } from '@cudnn-rnn/arguments'
import {
  type CanonicalParams,
  type ParamRegion,
  paramRegions,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'

/** The regions of a network: all weights, then all biases. */
export function regionsOf(descriptor: RnnDescriptor): ParamRegion[] {
  const { weights, biases } = paramRegions(descriptor)
  return [...weights, ...biases]
}

/** Every canonical tensor beside the region it fills, in the order of {@link regionsOf}. */
export function regionTensors(descriptor: RnnDescriptor, canonical: CanonicalParams): [ParamRegion, Tensor][] {
  const tensors = [...canonical.weights, ...canonical.biases]
  return [...zip(regionsOf(descriptor), tensors)]
}

/** Canonical tensors made region by region, in the order of {@link regionTensors}. */
export function canonicalOf(descriptor: RnnDescriptor, tensorOf: (region: ParamRegion) => Tensor): CanonicalParams {
  const { weights, biases } = paramRegions(descriptor)
  const tensors = (regions: readonly ParamRegion[]) => regions.map(tensorOf) as CanonicalParams['weights']
  return { weights: tensors(weights), biases: tensors(biases) }
}
