import type { ElementTypeName } from '@cudnn-rnn/interop/internal'
import type { NodeReader } from './graph_node.js'

type Shape = readonly number[]
const NONE: Shape = []

/** The operands of a node at one choice of the open sizes. */
interface ShapedNode {
  readonly node: NodeReader
  readonly shapes: readonly (Shape | undefined)[]
  /** Integers of an input that is a constant. */
  readonly integers: (input: number) => readonly number[] | undefined
}

/** The shapes of the outputs; undefined where they are not known. */
type ShapeRule = (node: ShapedNode) => readonly Shape[] | undefined

const normal = (axis: number, rank: number) => (axis < 0 ? axis + rank : axis)

/** A shape whose sizes from the third on are those of a window's places; `sizeAt` gives one of them. */
function moved(
  lead: Shape,
  spatial: Shape,
  kernel: Shape,
  node: NodeReader,
  sizeAt: (
    size: number,
    window: { readonly stride: number; readonly extent: number; readonly pads: number },
    axis: number,
  ) => number,
): readonly Shape[] | undefined {
  const [strides, dilations, pads] = ['strides', 'dilations', 'pads'].map((name) => node.list(name) ?? [])
  const sizes = spatial.map((size, axis) => {
    const extent = (dilations?.[axis] ?? 1) * ((kernel[axis] ?? 1) - 1) + 1
    const padded = (pads?.[axis] ?? 0) + (pads?.[axis + spatial.length] ?? 0)
    return sizeAt(size, { stride: strides?.[axis] ?? 1, extent, pads: padded }, axis)
  })
  return sizes.every((size) => size > 0) ? [[...lead, ...sizes]] : undefined
}

/** Convolution and pooling: floor or ceil((size + pads - extent) / stride) + 1. */
function windows(lead: Shape, spatial: Shape, kernel: Shape, node: NodeReader) {
  const isSame = node.text('auto_pad', 'NOTSET').startsWith('SAME')
  const round = node.integer('ceil_mode', 0) === 1 ? Math.ceil : Math.floor
  return moved(lead, spatial, kernel, node, (size, { stride, extent, pads }) =>
    isSame ? Math.ceil(size / stride) : round((size + pads - extent) / stride) + 1,
  )
}

/** A shape without some axes, or with 1 in their places. */
function reduced(x: Shape, axes: readonly number[], node: NodeReader): readonly Shape[] {
  const isReduced = new Set(axes.map((axis) => normal(axis, x.length)))
  const isKept = node.integer('keepdims', 1) === 1
  return [x.flatMap((size, axis) => (!isReduced.has(axis) ? size : isKept ? 1 : []))]
}

/** Rules by operators, in words of one rule. Those that `FOLDS` has are here for operands that are not constants. */
const RULES: Readonly<Record<string, ShapeRule>> = {
  'LSTM GRU RNN DynamicQuantizeLSTM': ({ shapes: [x, , R] }) => {
    const [[T, B] = NONE, [D, ...sides] = NONE] = [x, R]
    if (T === undefined || B === undefined || D === undefined || sides.length !== 2) return undefined
    // The matrix has gates · units by units; transposed, if it is quantized.
    const state = [D, B, Math.min(...sides)]
    return [[T, ...state], state, state]
  },
  'MatMul MatMulInteger': ({ shapes: [a = [], b = []] }) => {
    const [m, n] = [a.at(-2), b.at(-1)]
    if (m === undefined || n === undefined || b.length < 2) return undefined
    return [[...(a.length > b.length ? a : b).slice(0, -2), m, n]]
  },
  DynamicQuantizeLinear: ({ shapes: [x] }) => x && [x, [], []],
  Gemm({ node, shapes: [a, b] }) {
    const [m, n] = [a?.[node.integer('transA', 0)], b?.[1 - node.integer('transB', 0)]]
    return m === undefined || n === undefined ? undefined : [[m, n]]
  },
  Conv({ node, shapes: [[N, , ...spatial] = NONE, [M, , ...kernel] = NONE] }) {
    return N === undefined || M === undefined ? undefined : windows([N, M], spatial, kernel, node)
  },
  ConvTranspose({ node, shapes: [[N, , ...spatial] = NONE, [, M, ...kernel] = NONE] }) {
    const isPlain = node.list('output_shape') === undefined && node.text('auto_pad', 'NOTSET') === 'NOTSET'
    if (N === undefined || M === undefined || !isPlain) return undefined
    const added = node.list('output_padding')
    return moved([N, M * node.integer('group', 1)], spatial, kernel, node, (size, { stride, extent, pads }, axis) => {
      return (size - 1) * stride + (added?.[axis] ?? 0) + extent - pads
    })
  },
  'MaxPool AveragePool LpPool': ({ node, shapes: [x] }) =>
    x && windows(x.slice(0, 2), x.slice(2), node.list('kernel_shape') ?? [], node),
  'GlobalAveragePool GlobalMaxPool': ({ shapes: [x] }) => x && [x.map((size, axis) => (axis < 2 ? size : 1))],
  'ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL2 ReduceSumSquare': ({ node, shapes, integers }) => {
    const [x] = shapes
    const axes = node.list('axes') ?? (shapes.length < 2 ? x?.map((_, axis) => axis) : integers(1))
    return x && axes && reduced(x, axes, node)
  },
  ArgMax: ({ node, shapes: [x] }) => x && reduced(x, [node.integer('axis', 0)], node),
  Pad({ node, shapes: [x, , , axes], integers }) {
    const pads = node.list('pads') ?? integers(1)
    if (x === undefined || pads?.length !== 2 * x.length || axes !== undefined) return undefined
    return [x.map((size, axis) => size + (pads[axis] ?? 0) + (pads[axis + x.length] ?? 0))]
  },
  Gather({ node, shapes: [x, indices] }) {
    const axis = normal(node.integer('axis', 0), x?.length ?? 0)
    return x && indices && [[...x.slice(0, axis), ...indices, ...x.slice(axis + 1)]]
  },
  Einsum({ node, shapes }) {
    const [inputs = '', output] = node.text('equation', '').replaceAll(' ', '').split('->')
    const terms = inputs.split(',')
    if (output === undefined || terms.length !== shapes.length) return undefined
    const sizes = new Map(
      terms.flatMap((term, k) => [...term].map((letter, axis) => [letter, shapes[k]?.[axis]] as const)),
    )
    const shape = [...output].flatMap((letter) => sizes.get(letter) ?? [])
    return shape.length === output.length ? [shape] : undefined
  },
  'Pow Mod Min Max Sum Mean Where And Or LessOrEqual GreaterOrEqual': ({ shapes }) => {
    const known = shapes.flatMap((shape) => (shape === undefined ? [] : [shape]))
    const rank = Math.max(0, ...known.map(({ length }) => length))
    const sizes = Array.from({ length: rank }, (_, axis) => {
      return known.flatMap((shape) => shape[axis - rank + shape.length] ?? []).find((size) => size !== 1) ?? 1
    })
    return known.length === shapes.length ? [sizes] : undefined
  },
  [`Relu Sigmoid Tanh Sqrt Exp Log Abs Erf Neg Reciprocal Floor Ceil Round Sin Cos Sign Clip PRelu LeakyRelu
    Elu Selu Celu Gelu Mish HardSigmoid HardSwish Softplus Softsign ThresholdedRelu Softmax LogSoftmax
    BatchNormalization InstanceNormalization LayerNormalization GroupNormalization Dropout LpNormalization
    ScatterND ScatterElements CumSum`]: ({ shapes: [x] }) => x && [x],
}

const SHAPES = new Map(
  Object.entries(RULES).flatMap(([names, rule]) => names.split(/\s+/).map((name) => [name, rule] as const)),
)

/** Operators whose results have another type than their first operand. */
const TYPES = new Map<string, readonly ElementTypeName[]>([
  ['LessOrEqual', ['bool']],
  ['GreaterOrEqual', ['bool']],
  ['ArgMax', ['int64']],
  ['MatMulInteger', ['int32']],
  ['DynamicQuantizeLinear', ['uint8', 'float32', 'uint8']],
])

/** The shapes of a node's outputs, where they follow without reading its operands. */
export function outputShapes(node: ShapedNode): readonly Shape[] {
  return SHAPES.get(node.node.opType)?.(node) ?? []
}

/** The type of one of these outputs. */
export function outputType(
  opType: string,
  operands: readonly ({ readonly type: ElementTypeName } | undefined)[],
  output: number,
): ElementTypeName | undefined {
  return TYPES.get(opType)?.[output] ?? operands[opType === 'Where' ? 1 : 0]?.type
}
