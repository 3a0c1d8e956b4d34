import { entryOf } from '@cudnn-rnn/canonical/rules'
import { WeightFileError } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import type { Interpretation } from './interpretation.js'
import { type CellVariables, type KerasLayerFunction, NO_BIAS, networkInterpretation } from './keras_network.js'
import { groupTensors } from './tensor_groups.js'
import { scopesOf } from './tensor_scopes.js'

const NAME = /^(.*[/.])?(kernel|recurrent_kernel|bias)(?::0)?$/
/** Keras 3 numbers a cell's variables. */
const NUMBERED = /^(.*\/)?(cell(?:\/cells\/[^/]+)?)\/vars\/([012])$/
const OWN_NAMES = ['kernel', 'recurrent_kernel', 'bias'] as const
/** Segments of a path that describe containment and are not names. */
const STRUCTURE = new Set(['layers', 'layer', 'cell', 'cells', 'model_weights', 'vars'])
const SIDE = /^(forward|backward)_/

/** One layer of a file: one direction, or two of a `Bidirectional`. */
interface Layer {
  readonly name: string
  readonly forward?: CellVariables
  readonly backward?: CellVariables
}

/** Versions whose layers have hard_sigmoid gates by default, TensorFlow's aside. */
const HARD_GATES = /^(?:[01]\.|2\.[0-2]\.\d+$)/

const assumed = (gates: string) =>
  `The file holds weights alone: activations were taken as tanh and ${gates} (Keras before 2.3 had hard_sigmoid by default, and sigmoid since then), go_backwards as False, the merge_mode of a Bidirectional as concat. The order of the layers is not in the file.`

/** Recurrent layers under Keras's names in a file that does not describe its model. */
export function namedKerasInterpretations(file: WeightFile): Interpretation[] {
  const hasHardGates = HARD_GATES.test(file.kerasVersion ?? '')
  return layersIn(file).flatMap((layer) => interpretationsOf(layer, hasHardGates))
}

function layersIn({ tensors, kerasNames }: WeightFile): Layer[] {
  const groups = groupTensors(tensors, (name) => {
    const numbered = NUMBERED.exec(name)
    if (numbered !== null) {
      return [`${numbered[1] ?? ''}${numbered[2]}/`, OWN_NAMES[Number(numbered[3]) as 0 | 1 | 2]]
    }
    const [, prefix = '', own] = NAME.exec(name) ?? []
    return own === undefined ? undefined : [prefix, own]
  })
  const recurrent = groups.filter((group) => group.tensors.has('recurrent_kernel'))
  const placed = recurrent.map(({ prefix, tensors: variables }) => ({ ...placeOf(prefix, kerasNames), variables }))
  const inLayer = counted(placed, ofLayer)
  const inWrapper = counted(placed, ofWrapper)
  const layers = new Map<string, Layer>()
  for (const found of placed) {
    const { side, variables, cell, wrapper } = found
    // Cells of one layer that feed each other, or layers of one group: the sides of a wrapper have its name in common.
    const isOne =
      entryOf(inLayer, ofLayer(found)) === 1 &&
      placed.every((other) => other.name !== found.name || other.wrapper === wrapper)
    const own = wrapper !== undefined && entryOf(inWrapper, ofWrapper(found)) === 1 ? wrapper : cell
    const short = isOne ? found.name : `${found.name}/${own}`
    const name = layers.get(short)?.[side] === undefined ? short : found.path
    layers.set(name, { ...layers.get(name), name, [side]: variables })
  }
  return [...layers.values()]
}

type Placed = ReturnType<typeof placeOf>

const ofLayer = ({ side, name }: Placed) => `${side} ${name}`
const ofWrapper = ({ side, name, wrapper }: Placed) => `${side} ${name} ${wrapper}`

/** How many cells have each key. */
function counted(placed: readonly Placed[], key: (found: Placed) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const found of placed) counts.set(key(found), (counts.get(key(found)) ?? 0) + 1)
  return counts
}

/**
 * `model_weights/first/net/first/lstm_cell/` without the common parts is `first`; `layers/sequential/layers/lstm/cell/`
 * is `sequential/lstm`, or in the words of a file that names its objects `inner/first`.
 */
function placeOf(prefix: string, names: WeightFile['kerasNames']) {
  const segments = prefix
    .replace(/\.$/, '')
    .split('/')
    .filter((segment) => segment !== '')
  const sideSegment = segments.find((segment) => SIDE.test(segment))
  const side = SIDE.exec(sideSegment ?? '')?.[1] === 'backward' ? ('backward' as const) : ('forward' as const)
  const parts: string[] = []
  // The `Bidirectional` around the side.
  let wrapper: string | undefined
  for (const [index, segment] of segments.entries()) {
    if (SIDE.test(segment)) wrapper ??= parts.at(-1)
    if (STRUCTURE.has(segment) || SIDE.test(segment)) continue
    parts.push(names?.get(segments.slice(0, index + 1).join('/')) ?? segment)
  }
  const cell = parts.at(-1) ?? ''
  // Keras 2's weights are under their layer's name: the rest repeats it.
  const path = segments.join('/')
  if (!segments.includes('cell')) return { name: parts[0] ?? '', side, cell, wrapper, path }
  const isStacked = segments.includes('cells')
  return { name: parts.join('/'), side, cell: isStacked ? cell : '', wrapper: undefined, path }
}

function interpretationsOf({ name, forward, backward }: Layer, hasHardGates: boolean): Interpretation[] {
  const directions = [forward, backward].filter((own) => own !== undefined)
  const [variables] = directions
  if (variables === undefined) return []
  const kernel = variables.get('kernel')?.shape
  const recurrent = entryOf(variables, 'recurrent_kernel').shape
  if (kernel?.length !== 2 || recurrent.length !== 2 || kernel[1] !== recurrent[1]) return []
  return functionsOf(name, variables).map((found) => {
    const isHard = hasHardGates && found.variant === 'plain' && (found.cellMode === 'lstm' || found.cellMode === 'gru')
    const activations = isHard && directions.map(() => ({ recurrentActivation: 'hard_sigmoid' as const }))
    const hasBias = directions.some((own) => own.has('bias'))
    const network = networkInterpretation(
      { ...found, ...(activations && { activations }) },
      {
        name,
        directions,
        reverse: directions.length === 1 && backward !== undefined,
        outputReversed: false,
        notes: [
          ...(found.variant === 'plain' ? [assumed(isHard ? 'hard_sigmoid' : 'sigmoid')] : []),
          ...(hasBias ? [] : [NO_BIAS]),
        ],
      },
    )
    return { ...network, scopes: scopesOf(network.tensors) }
  })
}

/** Gates by the width of the recurrent kernel; CuDNN layers by a bias of twice that width. */
function functionsOf(name: string, variables: CellVariables): KerasLayerFunction[] {
  const [units, width] = entryOf(variables, 'recurrent_kernel').shape as [number, number]
  const bias: StoredTensor['shape'] | undefined = variables.get('bias')?.shape
  const variant = bias?.length === 1 && bias[0] === 2 * width ? 'cudnn' : 'plain'
  if (width === 4 * units) return [{ cellMode: 'lstm', variant, resetBefore: false }]
  if (width === 3 * units) {
    if (bias === undefined) {
      throw new WeightFileError(
        'ERR_WEIGHTS_AMBIGUOUS',
        `Cannot import weights as the GRU ${name} has no bias and no description, which would show its form: keras gru with reset_after=True or with reset_after=False. Save the whole model instead of its weights`,
        { interpretations: ['keras gru, reset_after=True', 'keras gru, reset_after=False'] },
      )
    }
    return [{ cellMode: 'gru', variant, resetBefore: variant === 'plain' && bias.length === 1 }]
  }
  if (width !== units) return []
  return [
    { cellMode: 'rnn_tanh', variant, resetBefore: false },
    { cellMode: 'rnn_relu', variant, resetBefore: false },
  ]
}
