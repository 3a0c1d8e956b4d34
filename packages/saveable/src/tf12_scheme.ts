import { entryOf } from '@cudnn-rnn/canonical/rules'
import type { KeyScheme } from './key_scheme.js'
import { canonicalOf, regionParts, regionsOf } from './region_tensors.js'

/** The operation whose outputs TensorFlow 1.0 to 1.2 saved, under the names of those outputs. */
const OPERATION = 'CudnnRNNParamsToCanonical'

/**
 * Keys of TensorFlow 1.0 to 1.2: `[<scope>/]CudnnRNNParamsToCanonical[_k]:<j>`, all weights, then all biases. A name that
 * holds the operation's name is the whole name of the operation; any other is its scope; the default name stands for an empty scope.
 *
 * Those releases saved only half of a bidirectional network; here all of it follows in the same order.
 */
export function tf12Scheme(name: string, defaultName: string): KeyScheme {
  const scope = name === defaultName ? '' : `${name}/`
  const operation = name.includes(OPERATION) ? name : `${scope}${OPERATION}`
  return {
    // They label weights 1-D, or with rows and columns exchanged; the elements stay [rows, columns].
    anyShape: true,
    shapes: (descriptor) => new Map(regionsOf(descriptor).map(({ shape }, index) => [`${operation}:${index}`, shape])),
    parts: (descriptor) => regionParts(descriptor, (_, index) => `${operation}:${index}`),
    fromKeys: (descriptor, tensors) => {
      let index = 0
      return canonicalOf(descriptor, ({ shape }) => ({ data: entryOf(tensors, `${operation}:${index++}`).data, shape }))
    },
  }
}
