import { WeightFileError } from '../errors.js'
import type { StoredTensor } from '../weight_file.js'
import type { Interpretation, InterpretationOptions } from './interpretation.js'

/**
 * The interpretations that `options` leave, when no tensor belongs to two of them.
 *
 * @throws WeightFileError `ERR_WEIGHTS_AMBIGUOUS` with the interpretations of the first tensor that has several
 */
export function chooseInterpretations(
  path: string,
  interpretations: readonly Interpretation[],
  options: InterpretationOptions,
): Interpretation[] {
  const { convention, cellMode, direction } = options
  const followed = interpretations.filter(
    (interpretation) => convention === undefined || interpretation.convention === convention,
  )
  // A cell or direction named decides where tensors are contested; networks that can be read in one way only stay.
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
