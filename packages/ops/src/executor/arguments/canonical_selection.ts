import { checkArguments, kind, optional } from '@cudnn-rnn/canonical/rules'
import {
  type CanonicalParams,
  type FloatArray,
  type ParamRegion,
  paramRegions,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'

const SELECTION = optional(kind('a Set of numbers of canonical tensors', (value) => value instanceof Set))

/** Throws TypeError `ERR_INVALID_ARGUMENT` for a selection that is not a Set. */
export function checkSelection(action: string, selection: ReadonlySet<number> | undefined): void {
  checkArguments(action, { selection }, { selection: SELECTION })
}

/**
 * Canonical tensors of which only `selection` is read; the others have no elements and the shape [0].
 *
 * @param selection numbers in canonical order, the weights from 0 and then the biases; undefined for all.
 * @param like an array of the element type.
 * @param read a new array for the elements of a region.
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
