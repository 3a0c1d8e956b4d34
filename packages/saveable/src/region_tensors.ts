import {
  type CanonicalParams,
  type ParamRegion,
  paramRegions,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import type { SchemePart } from './key_scheme.js'

/** The regions of a network: all weights, then all biases. */
export function regionsOf(descriptor: RnnDescriptor): ParamRegion[] {
  const { weights, biases } = paramRegions(descriptor)
  return [...weights, ...biases]
}

/** A part for each canonical tensor, in the order of {@link regionsOf}. */
export function regionParts(
  descriptor: RnnDescriptor,
  keyOf: (region: ParamRegion, index: number) => string,
): SchemePart[] {
  return regionsOf(descriptor).map((region, index) => {
    const key = keyOf(region, index)
    return { keys: [key], numbers: [index], toKeys: (tensors) => new Map(tensors.map((tensor) => [key, tensor])) }
  })
}

/** Canonical tensors made region by region, in the order of {@link regionsOf}. */
export function canonicalOf(descriptor: RnnDescriptor, tensorOf: (region: ParamRegion) => Tensor): CanonicalParams {
  const { weights, biases } = paramRegions(descriptor)
  const tensors = (regions: readonly ParamRegion[]) => regions.map(tensorOf) as CanonicalParams['weights']
  return { weights: tensors(weights), biases: tensors(biases) }
}
