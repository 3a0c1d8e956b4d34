import {
  abandonable,
  abortable,
  checkedElsewhere,
  checkOptions,
  listOf,
  type OptionsOf,
  optional,
  SIGNAL,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import { noneNamed } from './errors.js'
import { chooseInterpretations, settleDoubts } from './networks/choose_interpretations.js'
import {
  type ImportedCell,
  type ImportedNetwork,
  INTERPRETATION_OPTIONS,
  type Interpretation,
  type InterpretationOptions,
} from './networks/interpretation.js'
import { refuseLookalikes } from './networks/lookalikes.js'
import { MemoryBudget } from './networks/memory_budget.js'
import { networkInterpretations } from './networks/network_interpretations.js'
import { optimizerSlots } from './networks/optimizer_slots.js'
import { SharedParameters } from './networks/shared_parameters.js'
import { openWeightFile, type WeightInput } from './open_weight_file.js'
import type { ListedTensor, StoredTensor } from './stored_tensor.js'
import type { WeightFile, WeightFormat } from './weight_file.js'

const OPTIONS = {
  ...INTERPRETATION_OPTIONS,
  /** Default: detected by the file's first bytes. */
  // By openWeightFile.
  format: checkedElsewhere<WeightFormat | undefined>(),
  /** Names of the networks to import, such as those beside one that is refused. Default: all. */
  only: optional(listOf(TEXT)),
  /** Once it is aborted, the import rejects with its reason, wherever it waits, and closes the file. */
  signal: optional(SIGNAL),
}

/** Options of {@link importWeights}. */
export interface ImportOptions extends InterpretationOptions, OptionsOf<typeof OPTIONS> {}

/** Contents of a weight file. */
export interface ImportedWeights {
  readonly format: WeightFormat
  /** Networks that the models take, in the order of the file. */
  readonly networks: readonly ImportedNetwork[]
  /** The network of that name, by default the only one. Throws `ERR_WEIGHTS_NOT_FOUND` with the names. */
  network(name?: string): ImportedNetwork
  /** Networks that only a cell computes. */
  readonly cells: readonly ImportedCell[]
  /** Optimizer slots: moments, accumulators, counters. Never networks. */
  readonly optimizer: readonly ListedTensor[]
  /** Everything else; {@link openWeightFile} reads it. */
  readonly unusedTensors: readonly ListedTensor[]
}

/**
 * Reads the recurrent networks of a weight file of PyTorch, Keras, ONNX, TensorFlow, Flax or NumPy as canonical tensors.
 *
 * The format is detected; tensors of no network are in `unusedTensors`; tensors that can be read in two ways are an error
 * that shows both. Nothing in a file is ever executed, and memory is bounded by the file's size.
 *
 * @throws WeightFileError, RangeError `ERR_GRU_RESET_BEFORE`, `ERR_MISSING_TENSOR`, `ERR_TENSOR_SHAPE`;
 *   TypeError `ERR_UNKNOWN_OPTION`
 * @example
 * ```ts
 * import { importWeights } from '@cudnn-rnn/rnn'
 *
 * const weights = await importWeights('../fixtures/interop/guide/sine.pt')
 * const { name, descriptor } = weights.network()
 * console.log(weights.format, name, descriptor.cellMode, descriptor.numUnits) // pytorch model.memory lstm 8
 * console.log(weights.unusedTensors.map((tensor) => tensor.name)) // ['model.head.weight', 'model.head.bias']
 * ```
 */
export async function importWeights(
  input: WeightInput | WeightFile,
  options: ImportOptions = {},
): Promise<ImportedWeights> {
  const given = checkOptions('import weights', options, OPTIONS)
  const { signal } = given
  if (signal?.aborted) throw signal.reason
  const isOpen = typeof input === 'object' && input !== null && 'tensors' in input
  const file = isOpen
    ? input
    : await abortable(signal, openWeightFile(input, given.format), (late) => abandonable(signal, late.close()))
  try {
    const slots = optimizerSlots(file)
    const ofNetworks = file.tensors.filter((tensor) => !slots.has(tensor))
    const shared = new SharedParameters(ofNetworks, signal)
    const { tensors } = shared
    const isWanted = ({ name }: Interpretation) => given.only?.includes(name) !== false
    const chosen = chooseInterpretations(
      file.path,
      await networkInterpretations({ ...file, tensors }, given, (tensor) => shared.of(tensor)),
      tensors,
      given,
    )
    checkFound(file.path, chosen, given.only)
    const interpretations = settleDoubts(file.path, chosen.filter(isWanted), tensors, given)
    shared.expect(interpretations)
    const budget = new MemoryBudget(file.path, () => file.heldBytes ?? Number.POSITIVE_INFINITY)
    const networks: ImportedNetwork[] = []
    const cells: ImportedCell[] = []
    for (const interpretation of interpretations) {
      budget.check(interpretation)
      for (const found of await abortable(signal, interpretation.result(shared))) {
        budget.charge(found)
        if ('cell' in found) cells.push(found)
        else networks.push(found)
      }
    }
    const used = new Set<StoredTensor>()
    for (const { tensors, alsoUses = [] } of interpretations) {
      for (const tensor of tensors) used.add(tensor)
      for (const tensor of alsoUses) used.add(tensor)
    }
    const unused = tensors.filter((tensor) => !used.has(tensor))
    if (given.only === undefined) refuseLookalikes(file, unused, interpretations, given)
    const optimizer = [...slots].map(listed)
    return new NamedWeights(
      { format: file.format, networks, cells, optimizer, unusedTensors: unused.map(listed) },
      file.path,
    )
  } finally {
    if (!isOpen) await abandonable(signal, file.close())
  }
}

function listed({ name, shape, dtype }: StoredTensor): ListedTensor {
  return { name, shape, dtype }
}

/** A class, because a thread can send its values to another, without the method, and no function in an object. */
class NamedWeights implements ImportedWeights {
  readonly format
  readonly networks
  readonly cells
  readonly optimizer
  readonly unusedTensors
  readonly #path: string

  constructor({ format, networks, cells, optimizer, unusedTensors }: Omit<ImportedWeights, 'network'>, path: string) {
    this.format = format
    this.networks = networks
    this.cells = cells
    this.optimizer = optimizer
    this.unusedTensors = unusedTensors
    this.#path = path
  }

  network(name?: string): ImportedNetwork {
    const found = name === undefined ? this.networks : this.networks.filter((network) => network.name === name)
    const [only, ...others] = found
    if (only !== undefined && others.length === 0) return only
    throw noneNamed(this.#path, 'choose a network', name, this.networks)
  }
}

function checkFound(path: string, interpretations: readonly Interpretation[], only: ImportOptions['only']): void {
  const missing = only?.find((name) => interpretations.every((interpretation) => interpretation.name !== name))
  if (missing !== undefined) throw noneNamed(path, 'import weights', missing, interpretations)
}
