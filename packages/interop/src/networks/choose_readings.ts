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
  const wanted = followed.filter((reading) => {
    const rivals = followed.filter((other) => other !== reading && shareTensors(other, reading))
    return isNamed(reading) || !rivals.some(isNamed)
  })
  const owners = new Map<StoredTensor, Reading[]>()
  for (const reading of wanted) {
    for (const tensor of reading.tensors) owners.set(tensor, [...(owners.get(tensor) ?? []), reading])
  }
  for (const [{ name }, rivals] of owners) {
    // Two nodes of one graph may share their weights: that is one reading, twice.
    if (new Set(rivals.map(({ summary }) => summary)).size > 1) throw ambiguous(path, name, rivals)
  }
  return wanted
}

function shareTensors(one: Reading, other: Reading): boolean {
  return one.tensors.some((tensor) => other.tensors.includes(tensor))
}

function ambiguous(path: string, tensor: string, rivals: readonly Reading[]): WeightFileError {
  const readings = rivals.map(({ summary }) => summary)
  const decidedBy = (['convention', 'cellMode', 'direction'] as const).filter((option) => {
    return new Set(rivals.map((rival) => rival[option])).size > 1
  })
  return new WeightFileError(
    'ERR_WEIGHTS_AMBIGUOUS',
    `Cannot import weights as ${tensor} can be read in ${rivals.length} ways: ${readings.join('; or ')}. Name one by the option ${decidedBy.join(' or ')}`,
    { path, readings, decidedBy },
  )
}
