import { type CellMode, createRnnDescriptor, gatesOf, type Tensor } from '@cudnn-rnn/canonical'
import type { StoredTensor } from '../weight_file.js'
import type { Reading } from './reading.js'
import { sizesInWords } from './sizes_in_words.js'
import { groupTensors, readGroups, type StoredGroup } from './tensor_groups.js'

/** `<name>/layer_<l>/<forward|backward>/<weight|bias>_<k>`, the keys that this project's saveables write. */
const NAME = /^(.*)\/(layer_\d+\/(?:forward|backward)\/(?:weight|bias)_\d+)$/
const MODES: readonly CellMode[] = ['lstm', 'gru', 'rnn_tanh', 'rnn_relu']

/** Networks under canonical keys. Plain RNNs do not say whether they are tanh or relu: two readings. */
export function canonicalReadings(tensors: readonly StoredTensor[]): Reading[] {
  const groups = groupTensors(tensors, (name) => {
    const match = NAME.exec(name)
    return match === null ? undefined : [match[1]!, match[2]!]
  })
  return groups.flatMap(readingsOf)
}

function readingsOf({ prefix, tensors }: StoredGroup): Reading[] {
  const biasCount = [...tensors.keys()].filter((own) => own.startsWith('layer_0/forward/bias_')).length
  const weight = tensors.get('layer_0/forward/weight_0')?.shape
  const numUnits = tensors.get('layer_0/forward/bias_0')?.shape[0]
  const layers = [...tensors.keys()].map((own) => 1 + Number(/^layer_(\d+)/.exec(own)![1]))
  const numLayers = layers.reduce((most, layer) => Math.max(most, layer), 0)
  if (weight?.length !== 2 || numUnits === undefined || numUnits < 1 || numLayers > tensors.size) return []
  const isSkipped = weight[1] === 0
  const direction = tensors.has('layer_0/backward/bias_0') ? 'bidirectional' : 'unidirectional'
  const sides = direction === 'bidirectional' ? ['forward', 'backward'] : ['forward']
  return MODES.filter((cellMode) => 2 * gatesOf(cellMode).length === biasCount).flatMap((cellMode): Reading[] => {
    const projection = cellMode === 'lstm' ? tensors.get('layer_0/forward/weight_8')?.shape[0] : undefined
    const weightCount = biasCount + (projection === undefined ? 0 : 1)
    const names = (kind: string, count: number) =>
      Array.from({ length: numLayers }, (_, layer) => layer).flatMap((layer) =>
        sides.flatMap((side) => Array.from({ length: count }, (_, k) => `layer_${layer}/${side}/${kind}_${k}`)),
      )
    const [weights, biases] = [names('weight', weightCount), names('bias', biasCount)]
    if (![...weights, ...biases].every((own) => tensors.has(own))) return []
    const descriptor = createRnnDescriptor({
      cellMode,
      numLayers,
      numUnits,
      inputSize: isSkipped ? numUnits : weight[1]!,
      inputMode: isSkipped ? 'skip_input' : 'linear_input',
      direction,
      numProj: projection,
    })
    const stored = [...tensors.values()]
    return [
      {
        name: prefix,
        convention: 'canonical',
        cellMode,
        summary: sizesInWords('canonical', descriptor),
        tensors: stored,
        result: async () => {
          const [record] = await readGroups([tensors])
          const list = (own: readonly string[]): Tensor<Float32Array | Float64Array>[] =>
            own.map((key) => record![key]!)
          const canonical = { weights: list(weights), biases: list(biases) }
          const tensorNames = stored.map(({ name }) => name)
          const rest = { reverse: false, inputs: {}, tensorNames, notes: [] }
          return [{ name: prefix, convention: 'canonical', descriptor, canonical, ...rest }]
        },
      },
    ]
  })
}
