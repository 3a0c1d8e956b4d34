import { WeightFileError } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { Convention, Interpretation } from './interpretation.js'

/** A layer that is found and cannot be computed: importing it throws WeightFileError `ERR_WEIGHTS_OTHER_FUNCTION`. */
export function refusedInterpretation(
  path: string,
  name: string,
  reason: string,
  tensors: readonly StoredTensor[],
  convention: Convention,
): Interpretation {
  return {
    name,
    convention,
    cellMode: 'lstm',
    summary: `${convention} ${name}, which is refused: ${reason}`,
    tensors,
    result: async () => {
      throw new WeightFileError('ERR_WEIGHTS_OTHER_FUNCTION', `Cannot import ${name} as ${reason}`, { path })
    },
  }
}
