import { type CellMode, createRnnDescriptor, pytorchToCanonical, type RnnOptions } from '@cudnn-rnn/canonical'
import type { StoredTensor } from '../weight_file.js'
import type { Reading } from './reading.js'
import { sizesInWords } from './sizes_in_words.js'
import { groupTensors, type StoredGroup } from './tensor_groups.js'

/** `[<module>.]weight_ih_l<k>[_reverse]` of `nn.LSTM`, `nn.GRU`, `nn.RNN`; without `_l<k>` of the cells. */
const NAME = /^(?:(.*)\.)?((?:weight|bias)_(?:ih|hh)|weight_hr)(?:_l(\d+)(_reverse)?)?$/

const MODES_BY_GATES: Readonly<Record<number, readonly CellMode[]>> = {
  1: ['rnn_tanh', 'rnn_relu'],
  3: ['gru'],
  4: ['lstm'],
}

/** Networks under the names of PyTorch's modules. A plain RNN does not say whether it is tanh or relu: two readings. */
export function pytorchReadings(tensors: readonly StoredTensor[]): Reading[] {
  const groups = groupTensors(tensors, (name) => {
    const match = NAME.exec(name)
    if (match === null) return undefined
    const [, prefix = '', kind, layer = '0', reverse = ''] = match
    return [prefix, `${kind}_l${layer}${reverse}`]
  })
  return groups.flatMap(readingsOf)
}

function readingsOf({ prefix, tensors }: StoredGroup): Reading[] {
  const sizes = sizesOf(tensors)
  if (sizes === undefined) return []
  return sizes.modes.map((cellMode): Reading => {
    const descriptor = createRnnDescriptor({ ...sizes.options, cellMode, inputMode: 'linear_input' })
    const stored = [...tensors.values()]
    return {
      name: prefix,
      convention: 'pytorch',
      cellMode,
      summary: sizesInWords('pytorch', descriptor),
      tensors: stored,
      result: async (shared) => {
        const canonical = await shared.canonical(descriptor, tensors, (named) => pytorchToCanonical(descriptor, named))
        return [
          {
            name: prefix,
            convention: 'pytorch',
            descriptor,
            canonical,
            reverse: false,
            inputs: {},
            tensorNames: stored.map(({ name }) => name),
            notes: tensors.has('bias_ih_l0') ? [] : ['Biases are absent and were taken as zeros.'],
          },
        ]
      },
    }
  })
}

function sizesOf(
  tensors: ReadonlyMap<string, StoredTensor>,
): { readonly modes: readonly CellMode[]; readonly options: Omit<RnnOptions, 'cellMode'> } | undefined {
  const input = tensors.get('weight_ih_l0')?.shape
  const recurrent = tensors.get('weight_hh_l0')?.shape
  const projection = tensors.get('weight_hr_l0')?.shape
  if (input?.length !== 2 || recurrent?.length !== 2) return undefined
  const numUnits = projection?.[1] ?? recurrent[1]!
  const modes = MODES_BY_GATES[recurrent[0]! / numUnits]
  if (modes === undefined || input[1]! < 1) return undefined
  let numLayers = 0
  for (const own of tensors.keys()) numLayers = Math.max(numLayers, 1 + Number(/_l(\d+)/.exec(own)![1]))
  // A file cannot have more layers than matrices, whatever its names say.
  if (2 * numLayers > tensors.size) return undefined
  const direction = tensors.has('weight_ih_l0_reverse') ? 'bidirectional' : 'unidirectional'
  return { modes, options: { numLayers, numUnits, inputSize: input[1]!, direction, numProj: projection?.[0] } }
}
