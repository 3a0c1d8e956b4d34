import {
  type CellMode,
  createRnnDescriptor,
  type FloatArray,
  gatePosition,
  type NamedTensors,
  type RnnOptions,
  type Tensor,
  tensorflowToCanonical,
} from '@cudnn-rnn/canonical'
import { listIn, required } from '@cudnn-rnn/canonical/rules'
import type { WeightFile } from '../weight_file.js'
import type { ImportedCell, Interpretation, InterpretationOptions } from './interpretation.js'
import { oneNetwork, refusedInterpretation, sizesInWords } from './made_interpretations.js'
import { inWords } from './lookalikes.js'
import { readsBackward } from './reading_direction.js'
import { groupTensors, isMatrix, readGroups, type StoredGroup } from './tensor_groups.js'

const VARIABLES =
  'kernel|weights|bias|biases|w_[ifo]_diag|projection/(?:kernel|weights)|w_ru|b_ru|w_c|b_c|gates/(?:kernel|weights|bias|biases)|candidate/(?:(?:input|hidden)_projection/)?(?:kernel|weights|bias|biases)'
const CELLS =
  'basic_lstm_cell|lstm_cell|lstm_block_cell|lstm_fused_cell|lstm_block_wrapper|cudnn_compatible_lstm_cell|basic_rnn_cell|gru_cell|gru_block_cell|gru_block_cell_v2|cudnn_compatible_gru_cell'
const NAME = new RegExp(`^((?:.*/)?(?:${CELLS})(?:_\\d+)?)/(${VARIABLES})$`)

/** Places of a cell in a whole; the scopes around are the caller's, and have any name. */
const STACKED_BOTH = /^(?:(.*)\/)?cell_(\d+)\/bidirectional_rnn\/(fw|bw)\/[^/]+$/
const BOTH = /^(?:(.*)\/)?(fw|bw)\/[^/]+$/
const STACKED = /^((?:.*\/)?multi_rnn_cell)\/cell_(\d+)\/[^/]+$/
const RECURRENT_KERNEL = /^(.*)\/recurrent_kernel/i
const PEEPHOLES = ['w_i_diag', 'w_f_diag', 'w_o_diag'] as const

/** TensorFlow's cells add this to the forget gate at run time; it is in no variable. */
const DEFAULT_FORGET_BIAS = 1

/** One cell and its place in its network. */
interface Cell extends StoredGroup {
  readonly network: string
  readonly layer: number
  readonly isBackward: boolean
  /** Whether it reads from the end if it is a separate network. */
  readonly reverse: boolean
}

/**
 * Networks and cells under the variable names of TensorFlow 1 (`kernel` and `bias`, before 1.2 `weights` and `biases`):
 * stacks by `multi_rnn_cell/cell_<k>`, directions by `<scope>/{fw,bw}`. Cells that are not alike, or of which some are missing,
 * are separate networks.
 */
export function tensorflowInterpretations(
  { format, path, tensors }: Pick<WeightFile, 'format' | 'path' | 'tensors'>,
  options: InterpretationOptions,
): Interpretation[] {
  const groups = groupTensors(tensors, (name) => {
    const [, prefix, own] = NAME.exec(name) ?? []
    if (prefix === undefined || own === undefined) return undefined
    return [prefix, own.replace('weights', 'kernel').replace('biases', 'bias')]
  })
  // Keras's cells have the same names and a recurrent kernel beside the other, also if a tool has changed its letters' case.
  const kerasPrefixes = new Set(tensors.flatMap(({ name }) => RECURRENT_KERNEL.exec(name)?.[1]?.toLowerCase() ?? []))
  const own = groups.filter(({ prefix }) => !kerasPrefixes.has(prefix.toLowerCase()))
  const scopes = new Set(own.map(({ prefix }) => prefix))
  const cells = own
    .filter(isWholeCell)
    .map((group) => ({ ...group, ...placeOf(group), reverse: readsBackward(group.prefix, scopes) }))
  const networks = new Map<string, Cell[]>()
  for (const cell of cells) listIn(networks, cell.network).push(cell)
  const found = [
    ...[...networks].flatMap(([name, members]) => wholes(name, members)),
    ...cells.filter(isBlockCell).flatMap((cell) => blockCellInterpretation(cell, options) ?? []),
  ]
  // In a file of another format they may be left over from a graph that TensorFlow made.
  const parts = format === 'tensorflow' ? own.filter((cell) => !isWholeCell(cell)) : []
  return [...found, ...parts.map((cell) => partOfCell(path, cell))]

  function wholes(name: string, members: readonly Cell[]): Interpretation[] {
    const inOrder = [...members].sort((a, b) => a.layer - b.layer || Number(a.isBackward) - Number(b.isBackward))
    const sizes = inOrder.some(isBlockCell) ? undefined : sizesOfWhole(inOrder)
    if (sizes !== undefined) return networkInterpretations(name, inOrder, sizes, options)
    const others = inOrder.filter((cell) => !isBlockCell(cell))
    return others.flatMap((cell) => wholes(cell.prefix, [{ ...cell, layer: 0, isBackward: false }]))
  }
}

/** Whether a cell has all of its variables, each of the shape that the cell's sizes give it. TensorFlow's cells have biases. */
function isWholeCell(group: StoredGroup): boolean {
  const shapes = shapesOfCell(group)
  return (
    shapes !== undefined &&
    Object.keys(shapes).length === group.tensors.size &&
    Object.entries(shapes).every(([name, shape]) => String(group.tensors.get(name)?.shape) === String(shape))
  )
}

/** The shapes of all variables of a cell by the sizes of its first matrix. */
function shapesOfCell({ prefix, tensors }: StoredGroup): Readonly<Record<string, readonly number[]>> | undefined {
  const split = tensors.get('candidate/input_projection/kernel')?.shape
  if (isMatrix(split)) {
    const [I, H] = split
    const projections = { 'candidate/input_projection/kernel': [I, H], 'candidate/hidden_projection/kernel': [H, H] }
    const biases = { 'candidate/input_projection/bias': [H], 'candidate/hidden_projection/bias': [H] }
    return { ...projections, ...biases, 'gates/kernel': [I + H, 2 * H], 'gates/bias': [2 * H] }
  }
  const [gates, gatesBias, candidate, candidateBias] = tensors.has('w_c')
    ? (['w_ru', 'b_ru', 'w_c', 'b_c'] as const)
    : (['gates/kernel', 'gates/bias', 'candidate/kernel', 'candidate/bias'] as const)
  const kernel = (tensors.get(candidate) ?? tensors.get('kernel'))?.shape
  if (!isMatrix(kernel)) return undefined
  const [rows, width] = kernel
  if (tensors.has(candidate)) {
    if (rows <= width) return undefined
    return {
      [gates]: [rows, 2 * width],
      [gatesBias]: [2 * width],
      [candidate]: [rows, width],
      [candidateBias]: [width],
    }
  }
  const H = /basic_rnn_cell(?:_\d+)?$/.test(prefix) ? width : width / 4
  const P = tensors.get('projection/kernel')?.shape[1]
  if (!Number.isInteger(H) || rows <= (P ?? H)) return undefined
  return {
    kernel: [rows, width],
    bias: [width],
    ...(P !== undefined && { 'projection/kernel': [H, P] }),
    ...(PEEPHOLES.some((name) => tensors.has(name)) && Object.fromEntries(PEEPHOLES.map((name) => [name, [H]]))),
  }
}

/** A cell of which a variable is missing or has another shape. */
function partOfCell(path: string, { prefix, tensors }: StoredGroup): Interpretation {
  const stored = [...tensors.values()]
  const reason = `its variables must be those of a cell of TensorFlow: current ones are ${inWords(stored)}`
  return refusedInterpretation(path, prefix, reason, stored, 'tensorflow')
}

function placeOf({ prefix }: StoredGroup): Pick<Cell, 'network' | 'layer' | 'isBackward'> {
  const [, stack = '', stackLayer, stackSide] = STACKED_BOTH.exec(prefix) ?? []
  if (stackSide !== undefined) return { network: stack, layer: Number(stackLayer), isBackward: stackSide === 'bw' }
  const [, both = '', side] = BOTH.exec(prefix) ?? []
  if (side !== undefined) return { network: both, layer: 0, isBackward: side === 'bw' }
  // Within fw and bw these are separate stacks: neither feeds the other.
  const [, network = prefix, layer = 0] = STACKED.exec(prefix) ?? []
  return { network, layer: Number(layer), isBackward: false }
}

function isBlockCell({ tensors }: StoredGroup): boolean {
  return tensors.has('candidate/kernel') || tensors.has('w_c') || tensors.has('w_f_diag')
}

interface WholeSizes extends Sizes {
  readonly numLayers: number
  readonly directions: 1 | 2
}

/** The sizes of cells in order, if they are all layers and directions of one network; else undefined. */
function sizesOfWhole(cells: readonly Cell[]): WholeSizes | undefined {
  const [first] = cells
  const sizes = first && sizesOf(first)
  if (first === undefined || sizes === undefined) return undefined
  const directions = cells.some(({ isBackward }) => isBackward) ? 2 : 1
  const { numUnits, numProj } = sizes.options
  const isWhole = cells.every((cell, index) => {
    const own = sizesOf(cell)
    const fed = index < directions ? sizes.options.inputSize : directions * (numProj ?? numUnits)
    return (
      cell.layer * directions + Number(cell.isBackward) === index &&
      String(own?.modes) === String(sizes.modes) &&
      addsForgetBias(cell) === addsForgetBias(first) &&
      String(Object.values({ ...own?.options })) === String([numUnits, fed, numProj])
    )
  })
  if (!isWhole || cells.length % directions !== 0) return undefined
  return { ...sizes, directions, numLayers: cells.length / directions }
}

function networkInterpretations(
  name: string,
  cells: readonly Cell[],
  { modes, options, directions, numLayers }: WholeSizes,
  { forgetBias }: InterpretationOptions,
): Interpretation[] {
  const [first] = cells
  if (first === undefined) return []
  const added = addsForgetBias(first) ? (forgetBias ?? DEFAULT_FORGET_BIAS) : 0
  const stored = cells.flatMap(({ tensors }) => [...tensors.values()])
  return modes.map((cellMode) => {
    const descriptor = createRnnDescriptor({
      ...options,
      cellMode,
      numLayers,
      direction: directions === 2 ? 'bidirectional' : 'unidirectional',
      inputMode: 'linear_input',
    })
    return oneNetwork({
      name,
      convention: 'tensorflow',
      descriptor,
      summary: sizesInWords('tensorflow', descriptor),
      tensors: stored,
      scopes: cells.map(({ prefix }) => `${prefix}/`),
      canonical: async () => {
        const records = await readGroups(cells.map(({ tensors }) => tensors))
        const biased = cellMode === 'lstm' ? records.map((record) => withForgetBias(record, added)) : records
        return tensorflowToCanonical(descriptor, biased)
      },
      reverse: first.reverse,
      notes: notesOn(first, added),
    })
  })
}

interface Sizes {
  readonly modes: readonly CellMode[]
  readonly options: Pick<RnnOptions, 'numUnits' | 'inputSize' | 'numProj'>
}

function sizesOf({ tensors }: Cell): Sizes | undefined {
  const candidate = tensors.get('candidate/input_projection/kernel')?.shape
  if (isMatrix(candidate)) {
    return { modes: ['gru'], options: { numUnits: candidate[1], inputSize: candidate[0], numProj: undefined } }
  }
  const kernel = tensors.get('kernel')?.shape
  if (!isMatrix(kernel)) return undefined
  const [rows, width] = kernel
  const [first] = tensors.values()
  const isPlain = first?.name.includes('basic_rnn_cell') === true
  const numUnits = isPlain ? width : width / 4
  const numProj = tensors.get('projection/kernel')?.shape[1]
  const inputSize = rows - (numProj ?? numUnits)
  if (!Number.isInteger(numUnits) || inputSize < 1) return undefined
  return { modes: isPlain ? ['rnn_tanh', 'rnn_relu'] : ['lstm'], options: { numUnits, inputSize, numProj } }
}

function addsForgetBias({ prefix, tensors }: StoredGroup): boolean {
  return (
    !/cudnn_compatible_lstm_cell(?:_\d+)?$/.test(prefix) && !/rnn_cell(?:_\d+)?$/.test(prefix) && tensors.has('kernel')
  )
}

function notesOn(cell: StoredGroup, added: number): string[] {
  if (!addsForgetBias(cell)) return []
  return [
    `TensorFlow's cell adds its forget_bias at run time: ${added} was added to the forget gate's bias (option forgetBias).`,
  ]
}

/** The variables of an LSTM cell whose run-time forget bias has become part of its bias. */
function withForgetBias(record: NamedTensors, forgetBias: number): NamedTensors {
  const { bias } = record
  if (bias === undefined || forgetBias === 0) return record
  const H = bias.data.length / 4
  const data = bias.data.slice()
  const start = H * gatePosition('tensorflow', 'lstm', 'forget')
  for (const [unit, value] of data.subarray(start, start + H).entries()) data[start + unit] = value + forgetBias
  return { ...record, bias: { data, shape: bias.shape } }
}

/** A cell that no model computes: peepholes, or a GRU that resets before the product. */
function blockCellInterpretation(cell: Cell, { forgetBias }: InterpretationOptions): Interpretation | undefined {
  const { prefix, tensors } = cell
  const isLstm = tensors.has('w_f_diag')
  const kernel = (tensors.get('kernel') ?? tensors.get('w_c') ?? tensors.get('candidate/kernel'))?.shape
  if (!isMatrix(kernel)) return undefined
  const [rows, width] = kernel
  const numUnits = isLstm ? width / 4 : width
  const numProj = isLstm ? tensors.get('projection/kernel')?.shape[1] : undefined
  const inputSize = rows - (numProj ?? numUnits)
  const added = isLstm && addsForgetBias(cell) ? (forgetBias ?? DEFAULT_FORGET_BIAS) : 0
  const stored = [...tensors.values()]
  const found = async (): Promise<ImportedCell> => {
    const [read] = await readGroups([tensors])
    return {
      name: prefix,
      convention: 'tensorflow',
      ...(isLstm ? peepholeCell(numProj) : { cell: 'GRUBlockCell', options: {} }),
      inputSize,
      numUnits,
      variables: isLstm ? withForgetBias(read, added) : gruVariables(read),
      reverse: cell.reverse,
      inputs: {},
      tensorNames: stored.map(({ name }) => name),
      notes: isLstm ? notesOn(cell, added) : [],
    }
  }
  const what = isLstm ? `lstm with peepholes ${PEEPHOLES.join(', ')}` : 'gru that resets before the product'
  return {
    name: prefix,
    convention: 'tensorflow',
    cellMode: isLstm ? 'lstm' : 'gru',
    summary: `tensorflow ${what}, ${numUnits} units, input ${inputSize}`,
    tensors: stored,
    scopes: [`${prefix}/`],
    result: async () => [await found()],
  }
}

/** Only `LSTMCell` has peepholes and a projection. */
function peepholeCell(numProj: number | undefined): Pick<ImportedCell, 'cell' | 'options'> {
  return numProj === undefined
    ? { cell: 'LSTMBlockCell', options: { forgetBias: 0, usePeephole: true } }
    : { cell: 'LSTMCell', options: { forgetBias: 0, usePeepholes: true, numProj } }
}

/** The scopes of `GRUCell` for the letters of `GRUBlockCell`. */
function gruVariables(record: NamedTensors): NamedTensors {
  const either = (block: string, scoped: string): Tensor<FloatArray> =>
    required(record[block] ?? record[scoped], `a detected GRU cell has the variable ${block} or ${scoped}`)
  return {
    w_ru: either('w_ru', 'gates/kernel'),
    b_ru: either('b_ru', 'gates/bias'),
    w_c: either('w_c', 'candidate/kernel'),
    b_c: either('b_c', 'candidate/bias'),
  }
}
