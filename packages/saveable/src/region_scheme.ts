import { type CanonicalParams, type ParamRegion, paramRegions, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { entryOf } from '@cudnn-rnn/canonical/rules'
import type { KeyScheme } from './key_scheme.js'

/** The operation whose outputs TensorFlow 1.0 to 1.2 saved, under the names of those outputs. */
const OPERATION = 'CudnnRNNParamsToCanonical'

/**
 * This package's keys: `<name>/layer_<l>/<forward|backward>/weight_<k>` and `…/bias_<k>`, k the linear-layer id. Exact:
 * both biases of a gate are stored.
 */
export function defaultScheme(name: string): KeyScheme {
  return regionScheme(false, ({ layer, direction, kind, linLayerId }) => {
    return `${name}/layer_${layer}/${direction === 0 ? 'forward' : 'backward'}/${kind}_${linLayerId}`
  })
}

/**
 * Keys of TensorFlow 1.0 to 1.2: `[<scope>/]CudnnRNNParamsToCanonical[_k]:<j>`, all weights, then all biases. A name that
 * holds the operation's name is the whole name of the operation; any other is its scope; the default name stands for an empty scope.
 *
 * TensorFlow saved only half of a bidirectional network then; this scheme names all of it, in the same order.
 */
export function tf12Scheme(name: string, defaultName: string): KeyScheme {
  const scope = name === defaultName ? '' : `${name}/`
  const operation = name.includes(OPERATION) ? name : `${scope}${OPERATION}`
  // They label weights 1-D, or with rows and columns exchanged; the elements stay [rows, columns].
  return regionScheme(true, (_, index) => `${operation}:${index}`)
}

/** A key for each canonical tensor, by its region and its place in {@link regionsOf}. */
function regionScheme(anyShape: boolean, keyOf: (region: ParamRegion, index: number) => string): KeyScheme {
  return {
    anyShape,
    shapes: (descriptor) => new Map(regionsOf(descriptor).map((region, index) => [keyOf(region, index), region.shape])),
    parts: (descriptor) =>
      regionsOf(descriptor).map((region, index) => {
        const key = keyOf(region, index)
        return { keys: [key], numbers: [index], toKeys: (tensors) => new Map(tensors.map((tensor) => [key, tensor])) }
      }),
    fromKeys: (descriptor, tensors) => {
      const found = regionsOf(descriptor).map((region, index) => {
        const tensor = entryOf(tensors, keyOf(region, index))
        return anyShape ? { ...tensor, shape: region.shape } : tensor
      })
      const { length } = paramRegions(descriptor).weights
      return { weights: found.slice(0, length), biases: found.slice(length) } as CanonicalParams
    },
  }
}

/** The regions of a network: all weights, then all biases. */
export function regionsOf(descriptor: RnnDescriptor): ParamRegion[] {
  const { weights, biases } = paramRegions(descriptor)
  return [...weights, ...biases]
}
