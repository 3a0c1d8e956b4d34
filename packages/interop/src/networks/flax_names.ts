import { type CellMode, createRnnDescriptor, flaxToCanonical } from '@cudnn-rnn/canonical'
import type { WeightFile } from '../weight_file.js'
import type { Interpretation } from './interpretation.js'
import { oneNetwork, refusedInterpretation, sizesInWords } from './made_interpretations.js'
import { inWords } from './lookalikes.js'
import { readsBackward } from './reading_direction.js'
import { groupTensors, isMatrix, readGroups, type StoredGroup } from './tensor_groups.js'

/** `<cell>/ii/kernel`, joined by `/` or `.`; the gates' letters are in {@link MODES}. `if` is a keyword to nnx, whose variables hold values. */
const NAME = /^(?:(.*)[/.])?([ih](?:[ifgorzn])?)_?[/.](kernel|bias)(?:[/.](?:raw_)?value)?$/

/** The cells by a gate that only they have, with the gates of each. */
const MODES: readonly (readonly [telling: string, gates: RegExp, modes: readonly CellMode[]])[] = [
  ['hf/kernel', /^[ih][ifgo]\//, ['lstm']],
  ['hz/kernel', /^[ih][rzn]\//, ['gru']],
  ['h/kernel', /^[ih]\//, ['rnn_tanh', 'rnn_relu']],
]

/** So many matrices of gates in one scope are a cell, and not modules of short names. */
const FEWEST_GATES = 4
const GATE = /^[ih][ifgorzn]\/kernel$/

const ASSUMED =
  'The file holds parameters alone: gate_fn and activation_fn were taken as those that the cell has by default, and the direction by the names.'

/** Flax's cells, each a network of one layer. A `SimpleCell` has no stored activation: two interpretations. */
export function flaxInterpretations({ path, tensors }: Pick<WeightFile, 'path' | 'tensors'>): Interpretation[] {
  const groups = groupTensors(tensors, (name) => {
    const match = NAME.exec(name)
    return match === null ? undefined : [match[1] ?? '', `${match[2]}/${match[3]}`]
  })
  const scopes = new Set(groups.map(({ prefix }) => prefix))
  const cells = groups.flatMap((group) => {
    const input = [...group.tensors].find(([own]) => /^i.?\/kernel$/.test(own))?.[1].shape
    const [, gates, modes] = MODES.find(([telling]) => group.tensors.has(telling)) ?? []
    return isMatrix(input) && gates !== undefined ? [{ ...group, input, gates, modes: modes ?? [] }] : []
  })
  const found = new Set(cells.map(({ prefix }) => prefix))
  const parts = groups.filter(({ prefix, tensors }) => {
    return !found.has(prefix) && [...tensors.keys()].filter((own) => GATE.test(own)).length >= FEWEST_GATES
  })
  const refused = parts.map(({ prefix, tensors }) => {
    const stored = [...tensors.values()]
    const reason = `its tensors must be all matrices of an LSTMCell or a GRUCell: current ones are ${inWords(stored)}. Save each cell of nn.scan or nn.vmap separately`
    return refusedInterpretation(path, prefix, reason, stored, 'flax')
  })
  const interpretations = cells.flatMap((cell) => {
    const other = [...cell.tensors.keys()].find((own) => !cell.gates.test(own))
    if (other !== undefined) {
      const reason = `its tensors must be those of LSTMCell, GRUCell or SimpleCell: it has ${other}, too`
      return refusedInterpretation(path, cell.prefix, reason, [...cell.tensors.values()], 'flax')
    }
    return interpretationsOf(cell, readsBackward(cell.prefix, scopes), isSecondOfTwo(cell, cells))
  })
  return [...interpretations, ...refused]
}

interface FlaxCell extends StoredGroup {
  readonly input: readonly [rows: number, columns: number]
  readonly gates: RegExp
  readonly modes: readonly CellMode[]
}

/**
 * Whether a cell is `<Class>_<k+1>` behind one `<Class>_<k>` of its sizes. They may be the two sides of `Bidirectional`, which
 * numbers its cells as layers are numbered, or read the same input. A stack has the units of its first cell for inputs of
 * the second: if those are equal, a third cell in the scope shows that it is one.
 */
function isSecondOfTwo({ prefix, input, gates }: FlaxCell, cells: readonly FlaxCell[]): boolean {
  const [, stem = '', number] = /^(.*_)(\d+)$/.exec(prefix) ?? []
  if (number === undefined || Number(number) % 2 === 0) return false
  const siblings = cells.filter((cell) => cell.gates === gates && cell.prefix.replace(/\d+$/, '') === stem)
  const before = siblings.find((cell) => cell.prefix === `${stem}${Number(number) - 1}`)
  return String(before?.input) === String(input) && (input[0] !== input[1] || siblings.length === 2)
}

function interpretationsOf(
  { prefix, tensors, input: [inputSize, numUnits], modes }: FlaxCell,
  isBackward: boolean,
  isSecond: boolean,
): Interpretation[] {
  const stored = [...tensors.values()]
  const sides = isSecond && !isBackward ? ([false, true] as const) : [isBackward]
  return modes.flatMap((cellMode) => {
    const descriptor = createRnnDescriptor({ cellMode, numLayers: 1, numUnits, inputSize, inputMode: 'linear_input' })
    return sides.map((reverse) => {
      const side = reverse ? 'the backward side of Bidirectional' : 'a network that reads from the first step'
      return oneNetwork({
        name: prefix,
        convention: 'flax',
        descriptor,
        ...(sides.length > 1 && { direction: reverse ? 'bidirectional' : 'unidirectional' }),
        summary: `${sizesInWords('flax', descriptor)}${sides.length > 1 ? `, ${side}` : ''}`,
        tensors: stored,
        scopes: [(stored[0]?.name ?? '').slice(0, prefix === '' ? 0 : prefix.length + 1)],
        canonical: async () => flaxToCanonical(descriptor, await readGroups([tensors])),
        reverse,
        notes: [ASSUMED],
      })
    })
  })
}
