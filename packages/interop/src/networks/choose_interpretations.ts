import { WeightFileError } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { Interpretation, InterpretationOptions } from './interpretation.js'
import { inWords } from './lookalikes.js'
import { unexplained } from './tensor_scopes.js'

/**
 * The interpretations that `options` leave, when no tensor belongs to two of them. One that leaves a tensor of its module
 * unexplained gives way to another of the same tensors that explains all.
 *
 * @param tensors the file's.
 * @throws WeightFileError `ERR_WEIGHTS_AMBIGUOUS` with the interpretations of the first tensor that has several
 */
export function chooseInterpretations(
  path: string,
  interpretations: readonly Interpretation[],
  tensors: readonly StoredTensor[],
  options: InterpretationOptions,
): Interpretation[] {
  const { convention, cellMode, direction } = options
  const left = unexplained(interpretations, tensors)
  const whole = interpretations.filter((interpretation) => !left.has(interpretation))
  const explained = new Set(whole.flatMap((interpretation) => interpretation.tensors))
  const followed = interpretations.filter((interpretation) => {
    if (convention !== undefined) return interpretation.convention === convention
    return !left.has(interpretation) || !interpretation.tensors.some((tensor) => explained.has(tensor))
  })
  // A cell or direction named decides if tensors are contested; networks that can be read in one way only stay.
  const isNamed = (interpretation: Interpretation) =>
    (cellMode === undefined || interpretation.cellMode === cellMode) &&
    (direction === undefined || interpretation.direction === undefined || interpretation.direction === direction)
  const namedOwners = new Set<StoredTensor>()
  for (const interpretation of followed) {
    if (isNamed(interpretation)) for (const tensor of interpretation.tensors) namedOwners.add(tensor)
  }
  const wanted = followed.filter((interpretation) => {
    return isNamed(interpretation) || !interpretation.tensors.some((tensor) => namedOwners.has(tensor))
  })
  const owners = new Map<StoredTensor, Interpretation>()
  for (const interpretation of wanted) {
    for (const tensor of interpretation.tensors) {
      const owner = owners.get(tensor)
      // Two nodes of one graph may share their weights: that is one interpretation, twice.
      if (owner !== undefined && owner.summary !== interpretation.summary) throw ambiguous(path, tensor, wanted)
      owners.set(tensor, interpretation)
    }
  }
  return wanted
}

function ambiguous(path: string, tensor: StoredTensor, wanted: readonly Interpretation[]): WeightFileError {
  const rivals = wanted.filter(({ tensors }) => tensors.includes(tensor))
  const interpretations = [...new Set(rivals.map(({ summary }) => summary))]
  const decidedBy = (['convention', 'cellMode', 'direction'] as const).filter((option) => {
    return new Set(rivals.map((rival) => rival[option])).size > 1
  })
  return new WeightFileError(
    'ERR_WEIGHTS_AMBIGUOUS',
    `Cannot import weights as ${tensor.name} can be read in ${interpretations.length} ways: ${interpretations.join('; or ')}. Name one by the option ${decidedBy.join(' or ')}`,
    { path, interpretations, decidedBy },
  )
}

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
