import { WeightFileError } from '../errors.js'
import type { StoredTensor } from '../weight_file.js'
import type { Reading, ReadingOptions } from './reading.js'

/**
 * The readings that `options` leave, when no tensor belongs to two of them.
 *
 * @throws WeightFileError `ERR_WEIGHTS_AMBIGUOUS` with the readings of the first tensor that has several
 */
export function chooseReadings(path: string, readings: readonly Reading[], options: ReadingOptions): Reading[] {
  const { convention, cellMode, direction } = options
  const followed = readings.filter((reading) => convention === undefined || reading.convention === convention)
  // A cell or direction named decides where tensors are contested; networks that can be read in one way only stay.
  const isNamed = (reading: Reading) =>
    (cellMode === undefined || reading.cellMode === cellMode) &&
    (direction === undefined || reading.direction === undefined || reading.direction === direction)
  const namedOwners = new Set(followed.filter(isNamed).flatMap(({ tensors }) => tensors))
  const wanted = followed.filter((reading) => {
    return isNamed(reading) || !reading.tensors.some((tensor) => namedOwners.has(tensor))
  })
  const owners = new Map<StoredTensor, Reading>()
  for (const reading of wanted) {
    for (const tensor of reading.tensors) {
      const owner = owners.get(tensor)
      // Two nodes of one graph may share their weights: that is one reading, twice.
      if (owner !== undefined && owner.summary !== reading.summary) throw ambiguous(path, tensor, wanted)
      owners.set(tensor, reading)
    }
  }
  return wanted
}

function ambiguous(path: string, tensor: StoredTensor, wanted: readonly Reading[]): WeightFileError {
  const rivals = wanted.filter(({ tensors }) => tensors.includes(tensor))
  const readings = [...new Set(rivals.map(({ summary }) => summary))]
  const decidedBy = (['convention', 'cellMode', 'direction'] as const).filter((option) => {
    return new Set(rivals.map((rival) => rival[option])).size > 1
  })
  return new WeightFileError(
    'ERR_WEIGHTS_AMBIGUOUS',
    `Cannot import weights as ${tensor.name} can be read in ${readings.length} ways: ${readings.join('; or ')}. Name one by the option ${decidedBy.join(' or ')}`,
    { path, readings, decidedBy },
  )
}
