import type { ElementTypeName } from '@cudnn-rnn/interop/internal'
import type { NodeReader } from './graph_node.js'

type Shape = readonly number[]

/** The operands of a node at one choice of the open sizes. */
interface ShapedNode {
  readonly node: NodeReader
  readonly shapes: readonly (Shape | undefined)[]
  /** Integers of an input that is a constant. */
  readonly integers: (input: number) => readonly number[] | undefined
}

/** The shapes of the outputs; undefined where they are not known. */
type ShapeRule = (node: ShapedNode) => readonly (Shape | undefined)[] | undefined

const normal = (axis: number, rank: number) => (axis < 0 ? axis + rank : axis)

const sameAsFirst: ShapeRule = ({ shapes: [x] }) => x && [x]

const broadcastOfAll: ShapeRule = ({ shapes }) => {
  const rank = Math.max(0, ...shapes.map((shape) => shape?.length ?? 0))
  if (shapes.includes(undefined)) return undefined
  const sizes = Array.from({ length: rank }, (_, axis) => {
    const all = shapes.flatMap((shape) => shape?.[axis - rank + shape.length] ?? [])
    return all.find((size) => size !== 1) ?? 1
  })
  return [sizes]
}

/** The sizes after a window moved over those before: floor or ceil((size + pads - extent) / stride) + 1. */
function windows(spatial: Shape, kernel: Shape, node: NodeReader): Shape | undefined {
  const { strides, dilations, pads } = movement(spatial, node)
  const isSame = node.text('auto_pad', 'NOTSET').startsWith('SAME')
  const round = node.integer('ceil_mode', 0) === 1 ? Math.ceil : Math.floor
  const sizes = spatial.map((size, axis) => {
    const stride = strides[axis] ?? 1
    if (isSame) return Math.ceil(size / stride)
    const padded = size + (pads[axis] ?? 0) + (pads[axis + spatial.length] ?? 0)
    return round((padded - (dilations[axis] ?? 1) * ((kernel[axis] ?? 1) - 1) - 1) / stride) + 1
  })
  return sizes.every((size) => size > 0) ? sizes : undefined
}

function movement(spatial: Shape, node: NodeReader) {
  const ones = spatial.map(() => 1)
  return {
    strides: node.list('strides') ?? ones,
    dilations: node.list('dilations') ?? ones,
    pads: node.list('pads') ?? [],
  }
}

const pooling: ShapeRule = ({ node, shapes: [x] }) => {
  const sizes = x && windows(x.slice(2), node.list('kernel_shape') ?? [], node)
  return sizes && [[...x.slice(0, 2), ...sizes]]
}

const globalPooling: ShapeRule = ({ shapes: [x] }) => x && [x.map((size, axis) => (axis < 2 ? size : 1))]

const reduction: ShapeRule = ({ node, shapes: [x, axesShape], integers }) => {
  const given = node.list('axes') ?? integers(1)
  if (x === undefined || (given === undefined && axesShape !== undefined)) return undefined
  const axes = new Set((given ?? x.map((_, axis) => axis)).map((axis) => normal(axis, x.length)))
  if (node.integer('keepdims', 1) === 1) return [x.map((size, axis) => (axes.has(axis) ? 1 : size))]
  return [x.filter((_, axis) => !axes.has(axis))]
}

const recurrent: ShapeRule = ({ shapes: [x, , R] }) => {
  const [T, B] = x ?? []
  const [D, , H] = R ?? []
  if (T === undefined || B === undefined || D === undefined || H === undefined) return undefined
  return [
    [T, D, B, H],
    [D, B, H],
    [D, B, H],
  ]
}

const RULES: Readonly<Record<string, ShapeRule>> = {
  MatMul({ shapes: [a, b] }) {
    const [m, n] = [a?.at(-2), b?.at(-1)]
    if (a === undefined || b === undefined || m === undefined || n === undefined || b.length < 2) return undefined
    const lead = a.length > b.length ? a.slice(0, -2) : b.slice(0, -2)
    return [[...lead, m, n]]
  },
  Gemm({ node, shapes: [a, b] }) {
    const m = a?.[node.integer('transA', 0)]
    const n = b?.[1 - node.integer('transB', 0)]
    return m === undefined || n === undefined ? undefined : [[m, n]]
  },
  Conv({ node, shapes: [x, w] }) {
    const [N, M] = [x?.[0], w?.[0]]
    const sizes = x && w && windows(x.slice(2), w.slice(2), node)
    return sizes === undefined || N === undefined || M === undefined ? undefined : [[N, M, ...sizes]]
  },
  ConvTranspose({ node, shapes: [x, w] }) {
    const [N, M] = [x?.[0], w?.[1]]
    if (x === undefined || w === undefined || N === undefined || M === undefined) return undefined
    if (node.list('output_shape') !== undefined || node.text('auto_pad', 'NOTSET') !== 'NOTSET') return undefined
    const spatial = x.slice(2)
    const { strides, dilations, pads } = movement(spatial, node)
    const sizes = spatial.map((size, axis) => {
      const extent = (dilations[axis] ?? 1) * ((w[axis + 2] ?? 1) - 1) + 1
      const cut = (pads[axis] ?? 0) + (pads[axis + spatial.length] ?? 0)
      return (size - 1) * (strides[axis] ?? 1) + (node.list('output_padding')?.[axis] ?? 0) + extent - cut
    })
    return [[N, M * node.integer('group', 1), ...sizes]]
  },
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
    const sizes = new Map<string, number>()
    const terms = inputs.split(',')
    if (output === undefined || terms.length !== shapes.length) return undefined
    for (const [index, term] of terms.entries())
      for (const [axis, letter] of [...term].entries()) sizes.set(letter, shapes[index]?.[axis] ?? Number.NaN)
    const shape = [...output].map((letter) => sizes.get(letter) ?? Number.NaN)
    return shape.some(Number.isNaN) ? undefined : [shape]
  },
  Size: () => [[]],
  ArgMax: ({ node, shapes: [x] }) => {
    const axis = normal(node.integer('axis', 0), x?.length ?? 0)
    const isKept = node.integer('keepdims', 1) === 1
    return x && [x.flatMap((size, at) => (at !== axis ? [size] : isKept ? [1] : []))]
  },
}

/** Operators by their rule. */
const SHARED: readonly (readonly [ShapeRule, string])[] = [
  [recurrent, 'LSTM GRU RNN'],
  [pooling, 'MaxPool AveragePool LpPool'],
  [globalPooling, 'GlobalAveragePool GlobalMaxPool'],
  [reduction, 'ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL2 ReduceSumSquare'],
  [
    broadcastOfAll,
    'Add Sub Mul Div Pow Mod Min Max Sum Mean Where And Or Equal Less Greater LessOrEqual GreaterOrEqual',
  ],
  [
    sameAsFirst,
    `Relu Sigmoid Tanh Sqrt Exp Log Abs Erf Neg Reciprocal Floor Ceil Round Sin Cos Sign Clip PRelu LeakyRelu
     Elu Selu Celu Gelu Mish HardSigmoid HardSwish Softplus Softsign ThresholdedRelu Softmax LogSoftmax
     BatchNormalization InstanceNormalization LayerNormalization GroupNormalization Dropout LpNormalization
     ScatterND ScatterElements CumSum`,
  ],
]

const SHAPES = new Map<string, ShapeRule>([
  ...Object.entries(RULES),
  ...SHARED.flatMap(([rule, names]) => names.split(/\s+/).map((name) => [name, rule] as const)),
])

/** Operators whose results have another type than their first operand. */
const TYPES: Readonly<Record<string, ElementTypeName>> = {
  ...{ Equal: 'bool', Less: 'bool', Greater: 'bool', LessOrEqual: 'bool', GreaterOrEqual: 'bool' },
  ...{ Size: 'int64', ArgMax: 'int64' },
}

/** The shapes of a node's outputs, where they follow without reading its operands. */
export function outputShapes(node: ShapedNode): readonly (Shape | undefined)[] | undefined {
  return SHAPES.get(node.node.opType)?.(node)
}

/** The type of a node's outputs; undefined for an operator that is not in the table. */
export function outputType(
  opType: string,
  types: readonly (ElementTypeName | undefined)[],
): ElementTypeName | undefined {
  if (!SHAPES.has(opType)) return undefined
  return TYPES[opType] ?? types[opType === 'Where' ? 1 : 0]
}
