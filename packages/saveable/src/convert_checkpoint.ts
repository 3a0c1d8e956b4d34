import { CELL_MODES, DIRECTIONS, type RnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkOptions,
  codedRangeError,
  FILE_PATH,
  keyOf,
  type OptionsOf,
  oneOf,
  optional,
  PATH,
} from '@cudnn-rnn/canonical/rules'
import { type CheckpointReader, type NamedTensor, openCheckpoint, writeCheckpoint } from '@cudnn-rnn/checkpoint'
import { type DetectedNetwork, detectedToCanonical, detectNetworks } from './detect_networks.js'
import { toKeys } from './key_scheme.js'
import { NAMINGS } from './saveable.js'
import { DEFAULT_NAME, type StorageForm, schemeOf } from './storage_form.js'

const OPTIONS = {
  /** The form to write: a naming of `RNNParamsSaveable`, or `cells`. */
  to: oneOf([...NAMINGS, 'cells']),
  /** The cell of a network whose sizes do not determine it; relu and tanh always need it. */
  cellMode: optional(keyOf(CELL_MODES)),
  /** The same for TensorFlow 1.2's keys, if two layers may look like two directions. */
  direction: optional(oneOf(DIRECTIONS)),
}

/** Options of {@link convertCheckpoint}. */
export interface ConvertOptions extends OptionsOf<typeof OPTIONS> {}

/** One network that was rewritten. */
type ConvertedNetwork = {
  readonly name: string
  readonly from: StorageForm
  readonly structure: RnnDescriptor
  /** True if the two biases of a gate became their sum, or halves of it. */
  readonly biasesSummed: boolean
}

/**
 * Rewrites the recurrent networks of a checkpoint in another form and copies every other tensor, opaque buffers included.
 * Optimizer slots saved by `RNNParamsSaveable` are separate networks here and are converted in the same way.
 *
 * @param prefix checkpoint to read, V1 or V2.
 * @param target prefix of the checkpoint to write; may be in another directory.
 * @throws RangeError `ERR_NO_NETWORK`, `ERR_AMBIGUOUS_NETWORK`, `ERR_DUPLICATE_KEY`, `ERR_DTYPE`; CheckpointError
 * @example
 * ```ts
 * import { CudnnLSTM, openBackend } from '@cudnn-rnn/rnn'
 * import { convertCheckpoint, RNNParamsSaveable, Saver } from '@cudnn-rnn/rnn/saveable'
 *
 * const backend = await openBackend('reference')
 * const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 4, inputSize: 2 })
 * const params = lstm.createParams({ seed: 1 })
 * const encoder = new RNNParamsSaveable(lstm.paramsToCanonical, lstm.canonicalToParams, [params], 'encoder')
 * const prefix = await new Saver([encoder]).save('run/model')
 * const [network] = await convertCheckpoint(prefix, 'run/cells', { to: 'cells' })
 * console.log(network?.name, network?.from, network?.biasesSummed) // encoder default true
 * ```
 */
export async function convertCheckpoint(
  prefix: string,
  target: string,
  options: ConvertOptions,
): Promise<ConvertedNetwork[]> {
  checkArguments('convert a checkpoint', { prefix, target }, { prefix: PATH, target: FILE_PATH })
  const { to, ...known } = checkOptions('convert a checkpoint', options, OPTIONS)
  const reader = await openCheckpoint(prefix)
  try {
    const shapes = reader.names().map((key) => ({ key, shape: reader.shape(key) }))
    const networks = detectNetworks(shapes).filter(({ form }) => form !== 'opaque')
    if (networks.length === 0) {
      throw codedRangeError(
        'ERR_NO_NETWORK',
        `Cannot convert ${prefix} as it must hold parameters of a recurrent network`,
      )
    }
    const planned = networks.map((network) => ({ network, structure: structureOf(network, known) }))
    const tensors = new Map<string, unknown>()
    const put = (key: string, tensor: unknown) => {
      if (tensors.has(key)) {
        throw codedRangeError(
          'ERR_DUPLICATE_KEY',
          `Cannot convert ${prefix} as two tensors would have the key ${key}: convert one network at a time`,
          {
            key,
          },
        )
      }
      tensors.set(key, tensor)
    }
    const converted = new Set(networks.flatMap(({ keys }) => keys))
    for (const key of reader.names()) if (!converted.has(key)) put(key, await reader.read(key))
    for (const { network, structure } of planned) {
      for (const [key, tensor] of await rewritten(reader, network, structure, to)) put(key, tensor)
    }
    const sorted = [...tensors].sort(([a], [b]) => (a < b ? -1 : 1))
    await writeCheckpoint(target, sorted as NamedTensor[])
    return planned.map(({ network, structure }) => ({
      name: network.name,
      from: network.form,
      structure,
      biasesSummed: network.form !== to && (network.form === 'cells' || to === 'cells'),
    }))
  } finally {
    await reader.close()
  }
}

async function rewritten(
  reader: CheckpointReader,
  network: DetectedNetwork,
  structure: RnnDescriptor,
  to: ConvertOptions['to'],
): Promise<ReadonlyMap<string, Tensor>> {
  const { form, name, keys } = network
  const tensors = new Map<string, Tensor>()
  for (const key of keys) {
    const dtype = reader.dtype(key)
    if (dtype !== 'float32' && dtype !== 'float64') {
      throw codedRangeError(
        'ERR_DTYPE',
        `Cannot convert ${key} as it must be float32 or float64: current dtype is ${dtype}`,
        {
          key,
          dtype,
        },
      )
    }
    tensors.set(key, (await reader.read(key)) as Tensor)
  }
  const canonical = detectedToCanonical(network, structure, tensors)
  return toKeys(schemeOf(to, nameIn(to, form, name)), structure, [...canonical.weights, ...canonical.biases])
}

/** No scope in one form is the default name in another. */
function nameIn(to: ConvertOptions['to'], from: StorageForm, name: string): string {
  if (from === 'cells') return to !== 'cells' && name === '' ? DEFAULT_NAME : name
  return to === 'cells' && name === DEFAULT_NAME ? '' : name
}

function structureOf(
  { name, form, structures }: DetectedNetwork,
  { cellMode, direction }: Omit<ConvertOptions, 'to'>,
): RnnDescriptor {
  const candidates = structures.filter(
    (structure) =>
      (cellMode === undefined || structure.cellMode === cellMode) &&
      (direction === undefined || structure.direction === direction),
  )
  const [structure] = candidates
  if (structure !== undefined && candidates.length === 1) return structure
  const interpretations = structures.map(({ cellMode, direction, numLayers, numUnits, inputSize }) => {
    return `${cellMode} of ${numLayers} ${direction} layers, ${numUnits} units, input ${inputSize}`
  })
  throw codedRangeError(
    'ERR_AMBIGUOUS_NETWORK',
    `Cannot convert network "${name}" (${form}) as its tensors must be those of one network: current interpretations are ${interpretations.join('; ') || 'none (tensors are missing)'}${interpretations.length > 1 ? '. Say which by cellMode or direction' : ''}`,
    { network: name, structures },
  )
}
