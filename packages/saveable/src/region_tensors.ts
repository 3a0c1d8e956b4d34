import {
  type CanonicalParams,
  type ParamRegion,
  paramRegions,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'

/** Every canonical tensor beside the region it fills: all weights, then all biases. */
export function regionTensors(descriptor: RnnDescriptor, canonical: CanonicalParams): [ParamRegion, Tensor][] {
  const { weights, biases } = paramRegions(descriptor)
  return [
    ...weights.map((region, index): [ParamRegion, Tensor] => [region, canonical.weights[index]!]),
    ...biases.map((region, index): [ParamRegion, Tensor] => [region, canonical.biases[index]!]),
  ]
}

/** Canonical tensors made region by region, in the order of {@link regionTensors}. */
export function canonicalOf(descriptor: RnnDescriptor, tensorOf: (region: ParamRegion) => Tensor): CanonicalParams {
  const { weights, biases } = paramRegions(descriptor)
  const tensors = (regions: readonly ParamRegion[]) => regions.map(tensorOf) as CanonicalParams['weights']
  return { weights: tensors(weights), biases: tensors(biases) }
}
