import {
  type CellMode,
  createRnnDescriptor,
  type FloatArray,
  GATE_ORDERS,
  gatesOf,
  type NamedTensors,
  pytorchToCanonical,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { zerosLike } from '@cudnn-rnn/canonical/rules'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile, WeightFormat } from '../weight_file.js'
import type { Convention, Interpretation } from './interpretation.js'
import { oneNetwork, sizesInWords } from './made_interpretations.js'
import { groupTensors, isMatrix, readGroups } from './tensor_groups.js'

/** The places at which one library keeps the parameters of a cell of one kind, whose matrices hold the gates in blocks. */
interface Cell {
  readonly convention: Convention
  readonly mode: CellMode
  readonly input: string
  readonly recurrent: string
  /** Sum of both biases, [G·H]. */
  readonly bias: string
  /** Bias of the recurrent side: [G·H], or [H] of the new memory alone. */
  readonly recurrentBias?: string
  /** Blocks one above the other, [G·H,·], or side by side, [·,G·H]; a library that has changed has both. */
  readonly blocks: readonly ('rows' | 'columns')[]
  readonly order?: 'pytorch' | 'haste'
  /** Formats in which others do not use these names. */
  readonly formats?: readonly WeightFormat[]
  readonly note?: string
}

const NUMPY: readonly WeightFormat[] = ['safetensors', 'npz']
const EQUINOX = {
  convention: 'equinox',
  input: 'weight_ih',
  recurrent: 'weight_hh',
  bias: 'bias',
  blocks: ['rows'],
  formats: NUMPY,
} as const
const MLX = { convention: 'mlx', input: 'Wx', recurrent: 'Wh', blocks: ['rows', 'columns'], formats: NUMPY } as const
const NNX = { convention: 'flax', input: 'dense_i/kernel', recurrent: 'dense_h/kernel', blocks: ['columns'] } as const
const ZONEOUT = 'Haste keeps the zoneout outside of the file: it was taken as 0.'
const HASTE = {
  convention: 'haste',
  input: 'kernel',
  recurrent: 'recurrent_kernel',
  bias: 'bias',
  blocks: ['columns'],
  order: 'haste',
  note: ZONEOUT,
} as const

/** PyTorch's equations in NumPy, as in g2p_en's g2p.py; other programs have these names, too. */
const NUMPY_CELL = {
  convention: 'pytorch',
  input: 'w_ih',
  recurrent: 'w_hh',
  bias: 'b_ih',
  recurrentBias: 'b_hh',
  blocks: ['rows'],
  formats: [],
} as const

/**
 * Sources: equinox/nn/_rnn.py; mlx/nn/layers/recurrent.py, whose matrices are transposed since 0.18; flax/nnx/nn/recurrent.py;
 * haste's frameworks/pytorch/lstm.py and gru.py.
 */
const CELLS: readonly Cell[] = [
  { ...EQUINOX, mode: 'lstm' },
  { ...EQUINOX, mode: 'gru', recurrentBias: 'bias_n' },
  { ...MLX, mode: 'lstm', bias: 'bias' },
  { ...MLX, mode: 'gru', bias: 'b', recurrentBias: 'bhn' },
  { ...NNX, mode: 'lstm', bias: 'dense_h/bias' },
  { ...NNX, mode: 'gru', bias: 'dense_i/bias' },
  { ...NNX, mode: 'rnn_tanh', bias: 'dense_i/bias' },
  { ...NNX, mode: 'rnn_relu', bias: 'dense_i/bias' },
  { ...HASTE, mode: 'lstm' },
  { ...HASTE, mode: 'gru', recurrentBias: 'recurrent_bias' },
  ...(['lstm', 'gru', 'rnn_tanh', 'rnn_relu'] as const).map((mode) => ({ ...NUMPY_CELL, mode })),
]

const NAME =
  /^(?:(?:(.*?)[/._])??([wb]_[ih]h)|(?:(.*?)[/.])??(weight_ih|weight_hh|bias|bias_n|Wx|Wh|b|bhn|kernel|recurrent_kernel|recurrent_bias|dense_[ih][/.](?:kernel|bias))(?:[/.]value)?)$/

/** Formats that describe their networks: names alone decide nothing there. */
const DESCRIBED: readonly WeightFormat[] = ['keras-h5', 'keras-archive', 'keras-json', 'onnx', 'tensorflow']

/** Cells of libraries whose files are tensors and names: Equinox, MLX, Flax's nnx, Haste. */
export function gateBlockInterpretations({ format, tensors }: WeightFile): Interpretation[] {
  if (DESCRIBED.includes(format)) return []
  const groups = groupTensors(tensors, (name) => {
    const [, joined, joinedOwn, prefix = joined ?? '', own = joinedOwn] = NAME.exec(name) ?? []
    return own === undefined ? undefined : [prefix, own.replace('.', '/')]
  })
  return groups.flatMap(({ prefix, tensors: own }) =>
    CELLS.flatMap((cell) => cell.blocks.flatMap((blocks) => interpretationOf(format, prefix, own, cell, blocks) ?? [])),
  )
}

function interpretationOf(
  format: WeightFormat,
  prefix: string,
  own: ReadonlyMap<string, StoredTensor>,
  cell: Cell,
  blocks: 'rows' | 'columns',
): Interpretation | undefined {
  const { convention, mode, order = 'pytorch', formats, note } = cell
  const [input, recurrent] = [own.get(cell.input)?.shape, own.get(cell.recurrent)?.shape]
  if (!isMatrix(input) || !isMatrix(recurrent)) return undefined
  const [gates, across] = blocks === 'rows' ? ([0, 1] as const) : ([1, 0] as const)
  const numUnits = recurrent[across]
  const width = gatesOf(mode).length * numUnits
  if (recurrent[gates] !== width || input[gates] !== width || numUnits < 1 || input[across] < 1) return undefined
  const names = [
    cell.input,
    cell.recurrent,
    cell.bias,
    ...(cell.recurrentBias === undefined ? [] : [cell.recurrentBias]),
  ]
  const biases = names.slice(2).flatMap((name) => own.get(name) ?? [])
  // Without biases PyTorch's names and Equinox' are of one function.
  if (biases.length < names.length - 2 && (biases.length > 0 || convention !== 'mlx')) return undefined
  if (!biases.every(({ shape }) => shape.length === 1 && (shape[0] === width || shape[0] === numUnits)))
    return undefined
  const stored = names.flatMap((name) => own.get(name) ?? [])
  const used = new Map([...own].filter(([name]) => names.includes(name)))
  const descriptor = createRnnDescriptor({
    cellMode: mode,
    numLayers: 1,
    numUnits,
    inputSize: input[across],
    inputMode: 'linear_input',
  })
  const doubts = [
    ...(formats?.includes(format) === false
      ? [
          `In a file of ${format} the names ${names.join(', ')} may be those of a custom module, with another order of gates`,
        ]
      : []),
    ...(convention === 'mlx' && mode === 'gru' && blocks === 'rows' && biases.length > 0
      ? ['Called without a state, MLX leaves bhn out of the first step; here it is part of every step']
      : []),
  ]
  return oneNetwork({
    name: prefix,
    convention,
    descriptor,
    summary: `${convention} ${sizesInWords(order, descriptor).replace(/^\S+ /, '')}`,
    tensors: stored,
    scopes: [(stored[0]?.name ?? '').slice(0, prefix === '' ? 0 : prefix.length + 1)],
    ...(doubts.length > 0 && { doubt: doubts.join('. ') }),
    canonical: async () => {
      const [read] = await readGroups([used])
      return pytorchToCanonical(descriptor, pytorchTensors(descriptor, cell, blocks, read))
    },
    notes: note === undefined ? [] : [note],
  })
}

/** The tensors under PyTorch's names, its gates one above the other. */
function pytorchTensors(
  { cellMode, numUnits: H }: RnnDescriptor,
  { input, recurrent, bias, recurrentBias, order = 'pytorch' }: Cell,
  blocks: 'rows' | 'columns',
  read: NamedTensors,
): NamedTensors {
  const gates: readonly string[] = GATE_ORDERS.pytorch[cellMode]
  const stored: readonly string[] = GATE_ORDERS[order][cellMode]
  const width = gates.length * H
  /** Element (row, column) of a matrix [G·H,·], or of a vector as one column; rows are PyTorch's. */
  const arranged = (tensor: Tensor<FloatArray> | undefined): Tensor<FloatArray> => {
    if (tensor === undefined) return { data: new Float32Array(width), shape: [width] }
    const { data, shape } = tensor
    const columns = data.length / width
    if (shape.length === 1 && shape[0] === H) {
      const whole = zerosLike(data, width)
      whole.set(data, H * gates.indexOf('new_memory'))
      return { data: whole, shape: [width] }
    }
    const target = data.slice()
    for (let row = 0; row < width; row++) {
      const from = H * stored.indexOf(gates[Math.floor(row / H)] ?? '') + (row % H)
      for (let column = 0; column < columns; column++) {
        const at = blocks === 'rows' ? from * columns + column : column * width + from
        target[row * columns + column] = data[at] ?? Number.NaN
      }
    }
    return { data: target, shape: shape.length === 1 ? [width] : [width, columns] }
  }
  return {
    weight_ih_l0: arranged(read[input]),
    weight_hh_l0: arranged(read[recurrent]),
    bias_ih_l0: arranged(read[bias]),
    bias_hh_l0: arranged(recurrentBias === undefined ? undefined : read[recurrentBias]),
  }
}
