import {
  CELL_MODES,
  type CellMode,
  createRnnDescriptor,
  DIRECTIONS,
  elementCount,
  gatesOf,
  type RnnDescriptor,
  type RnnOptions,
} from '@cudnn-rnn/canonical'
import { type StorageForm, schemeOf } from './storage_form.js'

type Shapes = ReadonlyMap<string, readonly number[]>
type Sizes = Pick<RnnOptions, 'numUnits' | 'inputSize' | 'inputMode' | 'numProj'>
type SavedForm = Exclude<StorageForm, 'opaque'>

const MODES = Object.keys(CELL_MODES) as CellMode[]

/** No network is deeper; the shapes of every guess are compared, and a file of small tensors could require millions. */
const MOST_LAYERS = 4096

/** Every network whose parameters, in this form and under this name, are just the tensors given. */
export function networkStructures(form: SavedForm, name: string, shapes: Shapes): RnnDescriptor[] {
  const scheme = schemeOf(form, name)
  const fits = (descriptor: RnnDescriptor) => {
    const expected = scheme.shapes(descriptor)
    return (
      expected.size === shapes.size &&
      [...expected].every(([key, shape]) => {
        const actual = shapes.get(key)
        if (actual === undefined) return false
        return scheme.anyShape ? elementCount(actual) === elementCount(shape) : actual.join() === shape.join()
      })
    )
  }
  // A network cannot have more layers than tensors, for any keys.
  const mostLayers = Math.min(shapes.size, MOST_LAYERS)
  const guesses = GUESSES[form](shapes).filter(({ numLayers }) => numLayers <= mostLayers)
  return guesses.flatMap(descriptorOf).filter(fits)
}

/** Networks that the first tensors' sizes speak for; whether all of them fit is the caller's to check. */
const GUESSES: Readonly<Record<SavedForm, (shapes: Shapes) => RnnOptions[]>> = {
  default: (shapes) => {
    const at = (tensor: string) => entryEnding(shapes, `/layer_0/forward/${tensor}`)
    const numUnits = at('bias_0')?.[0]
    const weight = at('weight_0')
    if (numUnits === undefined || weight === undefined) return []
    const skipped = weight[1] === 0
    return eitherDirection(layersIn(shapes, /\/layer_(\d+)\//), {
      numUnits,
      inputSize: skipped ? numUnits : (weight[1] ?? Number.NaN),
      inputMode: skipped ? 'skip_input' : 'linear_input',
      numProj: at('weight_8')?.[0],
    })
  },
  'tf-1.2': (shapes) => {
    const sizes = [...shapes].sort(([a], [b]) => outputOf(a) - outputOf(b)).map(([, shape]) => elementCount(shape))
    const numUnits = sizes.at(-1) ?? Number.NaN
    const skipped = sizes[0] === 0
    const inputSize = skipped ? numUnits : (sizes[0] ?? Number.NaN) / numUnits
    const inputMode = skipped ? 'skip_input' : 'linear_input'
    const pseudoLayers = (cellMode: CellMode) => sizes.length / (4 * gatesOf(cellMode).length)
    // A projection is a ninth weight of each layer and direction; with it the buffers of other cells do not match.
    const projected = { numUnits, inputSize, inputMode, numProj: (sizes[8] ?? 0) / numUnits } as const
    return [
      ...MODES.flatMap((mode) => stacked(pseudoLayers(mode), { numUnits, inputSize, inputMode }, [mode])),
      ...stacked(sizes.length / 17, projected, ['lstm']),
    ]
  },
  'tf-1.3': cellGuess,
  cells: cellGuess,
}

function cellGuess(shapes: Shapes): RnnOptions[] {
  const numLayers = layersIn(shapes, /\/cell_(\d+)\//)
  const candidate = entryEnding(shapes, '/candidate/input_projection/kernel')
  if (candidate !== undefined) {
    const [inputSize = Number.NaN, numUnits = Number.NaN] = candidate
    return eitherDirection(numLayers, { inputSize, numUnits }, ['gru'])
  }
  const kernel = entryEnding(shapes, '_cell/kernel')
  if (kernel === undefined) return []
  const projection = entryEnding(shapes, '_cell/projection/kernel')
  const [rows = Number.NaN, columns = Number.NaN] = kernel
  const plain = eitherDirection(numLayers, { numUnits: columns, inputSize: rows - columns }, ['rnn_relu', 'rnn_tanh'])
  const numProj = projection?.[1]
  const lstm = { numUnits: columns / 4, inputSize: rows - (numProj ?? columns / 4), numProj }
  return [...eitherDirection(numLayers, lstm, ['lstm']), ...plain]
}

/** The networks of so many pseudo-layers: as many layers of one direction, or half as many of two. */
function stacked(pseudoLayers: number, sizes: Sizes, modes: readonly CellMode[]): RnnOptions[] {
  return modes.flatMap((cellMode): RnnOptions[] => [
    { inputMode: 'linear_input', ...sizes, cellMode, numLayers: pseudoLayers, direction: 'unidirectional' },
    { inputMode: 'linear_input', ...sizes, cellMode, numLayers: pseudoLayers / 2, direction: 'bidirectional' },
  ])
}

function eitherDirection(numLayers: number, sizes: Sizes, modes: readonly CellMode[] = MODES): RnnOptions[] {
  return modes.flatMap((cellMode) =>
    DIRECTIONS.map(
      (direction): RnnOptions => ({ inputMode: 'linear_input', ...sizes, cellMode, numLayers, direction }),
    ),
  )
}

/** Guesses may be no networks at all: half a layer, a projection of a GRU. */
function descriptorOf(options: RnnOptions): RnnDescriptor[] {
  try {
    return [createRnnDescriptor(options)]
  } catch {
    return []
  }
}

/** Shape of the first tensor whose key ends so: the first layer's, as keys come ascending. */
function entryEnding(shapes: Shapes, ending: string): readonly number[] | undefined {
  for (const [key, shape] of shapes) if (key.endsWith(ending)) return shape
  return undefined
}

function layersIn(shapes: Shapes, pattern: RegExp): number {
  let layers = 0
  for (const key of shapes.keys()) layers = Math.max(layers, 1 + Number(pattern.exec(key)?.[1] ?? -1))
  return layers
}

/** j of `…CudnnRNNParamsToCanonical:<j>`. */
function outputOf(key: string): number {
  return Number(key.slice(key.lastIndexOf(':') + 1))
}
