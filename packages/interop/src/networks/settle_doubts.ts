import { WeightFileError } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { Interpretation, InterpretationOptions } from './interpretation.js'
import { inWords } from './lookalikes.js'
import { unexplained } from './tensor_scopes.js'

/**
 * The interpretations, with a note on each doubt that the option `convention` settles: names and shapes that fit prove
 * nothing if a tensor of the same module is left over, or if another library has the same names.
 *
 * @throws WeightFileError `ERR_WEIGHTS_AMBIGUOUS` for a doubt that the option does not settle
 */
export function settleDoubts(
  path: string,
  interpretations: readonly Interpretation[],
  tensors: readonly StoredTensor[],
  { convention }: InterpretationOptions,
): Interpretation[] {
  const left = unexplained(interpretations, tensors)
  return interpretations.map((interpretation) => {
    const extra = left.get(interpretation)
    const doubts = [
      ...(extra === undefined ? [] : [`It leaves ${inWords(extra)} unread, beside its own tensors`]),
      ...(interpretation.doubt === undefined ? [] : [interpretation.doubt]),
    ]
    if (doubts.length === 0) return interpretation
    const { name, summary } = interpretation
    const doubt = `${doubts.join('. ')}.`
    if (convention === undefined) {
      throw new WeightFileError(
        'ERR_WEIGHTS_AMBIGUOUS',
        `Cannot import weights as names and shapes must leave one reading of ${name || 'the tensors'}: it may be ${summary}, or another function. ${doubt} If it is that network, set the option convention to '${interpretation.convention}'`,
        { path, interpretations: [summary, 'another function'], decidedBy: ['convention'] },
      )
    }
    return {
      ...interpretation,
      result: async (shared) => {
        const found = await interpretation.result(shared)
        return found.map((each) => ({ ...each, notes: [...each.notes, doubt] }))
      },
    }
  })
}
