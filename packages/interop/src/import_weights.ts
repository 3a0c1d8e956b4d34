import { checkOptionNames } from '@cudnn-rnn/canonical'
import { WeightFileError } from './errors.js'
import { chooseReadings } from './networks/choose_readings.js'
import { MemoryBudget } from './networks/memory_budget.js'
import { networkReadings } from './networks/network_readings.js'
import { optimizerSlots } from './networks/optimizer_slots.js'
import type { ImportedCell, ImportedNetwork, Reading, ReadingOptions } from './networks/reading.js'
import { SharedParameters } from './networks/shared_parameters.js'
import { openWeightFile, type WeightInput } from './open_weight_file.js'
import type { StoredTensor, WeightFile, WeightFormat } from './weight_file.js'

export interface ImportOptions extends ReadingOptions {
  /** Default: what the file's first bytes say. */
  readonly format?: WeightFormat | undefined
  /** Names of the networks to import, such as those beside one that is refused. Default: all. */
  readonly only?: readonly string[] | undefined
}

/** A tensor of a file that is part of no network. */
export type LeftoverTensor = Pick<StoredTensor, 'name' | 'shape' | 'dtype'>

/** What a weight file holds. */
export interface ImportedWeights {
  readonly format: WeightFormat
  /** Networks that the models take, in the order of the file. */
  readonly networks: readonly ImportedNetwork[]
  /** Networks that only a cell computes. */
  readonly cells: readonly ImportedCell[]
  /** What an optimizer keeps beside the weights: moments, accumulators, counters. Never networks. */
  readonly optimizer: readonly LeftoverTensor[]
  /** Everything else; {@link openWeightFile} reads it. */
  readonly leftovers: readonly LeftoverTensor[]
}

const OPTION_NAMES: readonly (keyof ImportOptions)[] = [
  'format',
  'cellMode',
  'convention',
  'direction',
  'forgetBias',
  'inputs',
  'only',
]

/**
 * Reads the recurrent networks of a weight file of PyTorch, Keras, ONNX, TensorFlow, Flax or NumPy as canonical tensors.
 *
 * The format is detected; what nothing recognised is in `leftovers`; tensors that can be read in two ways are an error
 * that shows both. Nothing in a file is ever executed, and memory is bounded by the file's size.
 *
 * @throws WeightFileError, RangeError `ERR_GRU_RESET_BEFORE`, `ERR_MISSING_TENSOR`, `ERR_TENSOR_SHAPE`;
 *   TypeError `ERR_UNKNOWN_OPTION`
 */
export async function importWeights(
  input: WeightInput | WeightFile,
  options: ImportOptions = {},
): Promise<ImportedWeights> {
  checkOptionNames('import weights', options, OPTION_NAMES)
  const isOpen = typeof input === 'object' && input !== null && 'tensors' in input
  const file = isOpen ? input : await openWeightFile(input, options.format)
  try {
    const slots = optimizerSlots(file)
    const shared = new SharedParameters(file.tensors.filter((tensor) => !slots.has(tensor)))
    const { tensors } = shared
    const readings = chooseReadings(file.path, networkReadings({ ...file, tensors }, options), options).filter(
      ({ name }) => options.only === undefined || options.only.includes(name),
    )
    checkFound(file.path, readings, options.only)
    shared.expect(readings)
    const budget = new MemoryBudget(file.path, () => file.heldBytes ?? Number.POSITIVE_INFINITY)
    const networks: ImportedNetwork[] = []
    const cells: ImportedCell[] = []
    for (const reading of readings) {
      budget.check(reading)
      for (const found of await reading.result(shared)) {
        budget.charge(found)
        if ('cell' in found) cells.push(found)
        else networks.push(found)
      }
    }
    const used = new Set(readings.flatMap(({ tensors, alsoUses = [] }) => [...tensors, ...alsoUses]))
    const leftovers = tensors.filter((tensor) => !used.has(tensor)).map(listed)
    return { format: file.format, networks, cells, optimizer: [...slots].map(listed), leftovers }
  } finally {
    if (!isOpen) await file.close()
  }
}

function listed({ name, shape, dtype }: StoredTensor): LeftoverTensor {
  return { name, shape, dtype }
}

function checkFound(path: string, readings: readonly Reading[], only: ImportOptions['only']): void {
  const missing = only?.find((name) => readings.every((reading) => reading.name !== name))
  if (missing === undefined) return
  throw new WeightFileError('ERR_WEIGHTS_NOT_FOUND', `Cannot import weights as there is no network ${missing}`, {
    path,
  })
}
