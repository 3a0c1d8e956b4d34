import { checkArguments, kind, optional } from '@cudnn-rnn/arguments'
import {
  type CanonicalParams,
  type FloatArray,
  type ParamRegion,
  paramRegions,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'

const SELECTION = optional(kind('a Set of numbers of canonical tensors', (value) => value instanceof Set))

/**
 * Throws TypeError `ERR_INVALID_ARGUMENT` for a selection that is not a Set.
 *
 * @example
 * ```ts
 * import { checkSelection } from '@cudnn-rnn/executor-kit'
 *
 * checkSelection('unpack parameters', new Set([0, 3]))
 * checkSelection('unpack parameters', undefined) // all tensors
 * ```
 */
export function checkSelection(action: string, selection: ReadonlySet<number> | undefined): void {
  checkArguments(action, { selection }, { selection: SELECTION })
}

/**
 * Canonical tensors of which only those of `selection` are read; the others have no elements and the shape [0].
 *
 * @param selection numbers in canonical order, the weights from 0 and then the biases; undefined for all.
 * @param like an array of the element type.
 * @param read a new array for the elements of a region.
 * @example
 * ```ts
 * import { selectedCanonical } from '@cudnn-rnn/executor-kit'
 * import { createRnnDescriptor } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'rnn_tanh', numLayers: 1, numUnits: 3, inputSize: 2 })
 * const read = ({ size }: { readonly size: number }) => new Float32Array(size)
 * const { weights } = selectedCanonical(descriptor, new Set([1]), new Float32Array(0), read)
 * console.log(weights.map(({ shape }) => shape)) // [ [ 0 ], [ 3, 3 ] ]
 * ```
 */
export function selectedCanonical<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  selection: ReadonlySet<number> | undefined,
  like: Data,
  read: (region: ParamRegion, kind: 'weights' | 'biases', index: number) => Data,
): CanonicalParams<Data> {
  const regions = paramRegions(descriptor)
  const empty = like.slice(0, 0) as Data
  let number = 0
  const tensors = (kind: 'weights' | 'biases') => {
    const result: Tensor<Data>[] = []
    for (const [index, region] of regions[kind].entries()) {
      const isSelected = selection?.has(number++) ?? true
      result.push(isSelected ? { data: read(region, kind, index), shape: region.shape } : { data: empty, shape: [0] })
    }
    return result
  }
  return { weights: tensors('weights'), biases: tensors('biases') }
}
