import { entryOf } from '@cudnn-rnn/canonical/rules'
import type { ParamRegion } from '@cudnn-rnn/canonical'
import type { KeyScheme } from './key_scheme.js'
import { canonicalOf, regionParts, regionsOf } from './region_tensors.js'

/**
 * This package's keys: `<name>/layer_<l>/<forward|backward>/weight_<k>` and `…/bias_<k>`, k the linear-layer id. Exact:
 * both biases of a gate are stored.
 */
export function defaultScheme(name: string): KeyScheme {
  const key = ({ layer, direction, kind, linLayerId }: ParamRegion) =>
    `${name}/layer_${layer}/${direction === 0 ? 'forward' : 'backward'}/${kind}_${linLayerId}`
  return {
    anyShape: false,
    shapes: (descriptor) => new Map(regionsOf(descriptor).map((region) => [key(region), region.shape])),
    parts: (descriptor) => regionParts(descriptor, key),
    fromKeys: (descriptor, tensors) => canonicalOf(descriptor, (region) => entryOf(tensors, key(region))),
  }
}
