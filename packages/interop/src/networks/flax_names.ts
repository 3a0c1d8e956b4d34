import { type CellMode, createRnnDescriptor, flaxToCanonical } from '@cudnn-rnn/canonical'
import type { StoredTensor } from '../stored_tensor.js'
import type { Interpretation } from './interpretation.js'
import { readsBackward } from './reading_direction.js'
import { sizesInWords } from './sizes_in_words.js'
import { groupTensors, readGroups, type StoredGroup } from './tensor_groups.js'

/** `<cell>/ii/kernel`, joined by `/` or `.`; the gates' letters are those of {@link MODES}. `if` is a keyword to nnx. */
const NAME = /^(?:(.*)[/.])?([ih](?:[ifgorzn])?)_?[/.](kernel|bias)(?:[/.]value)?$/

/** The cells by a gate that only they have. */
const MODES: readonly (readonly [telling: string, modes: readonly CellMode[]])[] = [
  ['hf/kernel', ['lstm']],
  ['hz/kernel', ['gru']],
  ['h/kernel', ['rnn_tanh', 'rnn_relu']],
]

/** Flax's cells, each a network of one layer. A `SimpleCell` has no stored activation: two interpretations. */
export function flaxInterpretations(tensors: readonly StoredTensor[]): Interpretation[] {
  const groups = groupTensors(tensors, (name) => {
    const match = NAME.exec(name)
    return match === null ? undefined : [match[1] ?? '', `${match[2]}/${match[3]}`]
  })
  const scopes = new Set(groups.map(({ prefix }) => prefix))
  return groups.flatMap((group) => interpretationsOf(group, readsBackward(group.prefix, scopes)))
}

function interpretationsOf({ prefix, tensors }: StoredGroup, reverse: boolean): Interpretation[] {
  const found = MODES.find(([telling]) => tensors.has(telling))
  const input = [...tensors].find(([own]) => /^i.?\/kernel$/.test(own))?.[1].shape
  if (found === undefined || input?.length !== 2) return []
  return found[1].map((cellMode): Interpretation => {
    const [inputSize, numUnits] = input as [number, number]
    const descriptor = createRnnDescriptor({ cellMode, numLayers: 1, numUnits, inputSize, inputMode: 'linear_input' })
    const stored = [...tensors.values()]
    return {
      name: prefix,
      convention: 'flax',
      cellMode,
      summary: sizesInWords('flax', descriptor),
      tensors: stored,
      scopes: [(stored[0]?.name ?? '').slice(0, prefix === '' ? 0 : prefix.length + 1)],
      result: async () => [
        {
          name: prefix,
          convention: 'flax',
          descriptor,
          canonical: flaxToCanonical(descriptor, await readGroups([tensors])),
          reverse,
          inputs: {},
          tensorNames: stored.map(({ name }) => name),
          notes: [],
        },
      ],
    }
  })
}
