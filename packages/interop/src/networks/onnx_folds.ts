import { elementCount } from '@cudnn-rnn/canonical'
import { bfloat16ToNumber, float16ToNumber, numberToBfloat16, numberToFloat16 } from '@cudnn-rnn/checkpoint/files'
import { type ElementTypeName, elementTypeOf, isFloat, newElements } from '../elements.js'
import { type Elements, rowMajorStrides, type StridedView, stridedElements } from '../files/strided_elements.js'

/** The properties of a tensor without its elements. */
export interface FoldedType {
  readonly type: ElementTypeName
  readonly shape: readonly number[]
}

/** The parts of a node that a row reads. */
interface FoldedNode {
  /** Operands other than shapes, axes and such; undefined for those left out. */
  readonly operands: readonly (FoldedType | undefined)[]
  /** Integers under this name, an attribute or a constant input. */
  list(name: string): readonly number[] | undefined
  /** An integer attribute. */
  integer(name: string, otherwise: number): number
  readonly outputs: number
}

/** An output of a node: its type, and how its elements follow from the operands'. */
export interface FoldedOutput extends FoldedType {
  /** Undefined for the first operand's elements in the same order. */
  readonly elements: ((operands: readonly Elements[]) => Elements) | undefined
}

/** One operator. */
export interface Fold {
  /** Inputs that are shapes, axes and such, by the names of the attributes that they were in older opsets. */
  readonly lists?: Readonly<Record<string, number>>
  /** Whether it gives elements of its operands only, so that one value everywhere stays that value. */
  readonly isMove?: boolean
  /** Whether it reads the shape of its operand and no elements. */
  readonly isOfShape?: boolean
  /** The outputs, or undefined for a node that is not one of this operator. */
  readonly outputs: (node: FoldedNode) => readonly FoldedOutput[] | undefined
}

/** A number as an element of `type`. */
export function rounded(type: ElementTypeName, value: number): number {
  if (type === 'float16') return float16ToNumber(numberToFloat16(Math.fround(value)))
  if (type === 'bfloat16') return bfloat16ToNumber(numberToBfloat16(value))
  if (type === 'bool') return value === 0 ? 0 : 1
  return isFloat(type) ? value : Math.trunc(value)
}

/** Elements of `type` by their places. */
function filled({ type, shape }: FoldedType, element: (place: number) => number): Elements {
  const made = newElements(type, elementCount(shape)) ?? new Float32Array()
  for (let place = 0; place < made.length; place++) made[place] = rounded(type, element(place))
  return made
}

function view(type: ElementTypeName, strided: StridedView): FoldedOutput {
  return {
    type,
    shape: strided.shape,
    elements: ([first]) => (first && stridedElements(first, strided)) ?? new Float32Array(),
  }
}

const normal = (axis: number, rank: number) => (axis < 0 ? axis + rank : axis)

/** A row whose one output is a view of its operand. */
function viewing(of: (shape: readonly number[], node: FoldedNode) => StridedView | undefined): Fold['outputs'] {
  return (node) => {
    const [x] = node.operands
    const strided = x && of(x.shape, node)
    return x && strided && [view(x.type, strided)]
  }
}

/** A row whose one output is its operand in another shape. */
function reshaping(of: (shape: readonly number[], node: FoldedNode) => readonly number[] | undefined): Fold['outputs'] {
  return (node) => {
    const [x] = node.operands
    const shape = x && of(x.shape, node)
    if (x === undefined || shape === undefined || elementCount(shape) !== elementCount(x.shape)) return undefined
    return [{ type: x.type, shape, elements: undefined }]
  }
}

/** The shape that both broadcast to. */
function broadcast(a: readonly number[], b: readonly number[]): number[] | undefined {
  const rank = Math.max(a.length, b.length)
  const sizes = Array.from({ length: rank }, (_, axis) => {
    const [one, other] = [a[axis - rank + a.length] ?? 1, b[axis - rank + b.length] ?? 1]
    return one === other || other === 1 ? one : one === 1 ? other : Number.NaN
  })
  return sizes.some(Number.isNaN) ? undefined : sizes
}

/** A tensor of `from` as one of the shape `to`, which it broadcasts to. */
function expanded(from: readonly number[], to: readonly number[]): StridedView {
  const strides = rowMajorStrides(from)
  const lead = to.length - from.length
  return {
    offset: 0,
    shape: to,
    strides: to.map((_, axis) => (from[axis - lead] === 1 ? 0 : (strides[axis - lead] ?? 0))),
  }
}

/** A row of a function of two elements. */
function pairwise(of: (a: number, b: number, isInteger: boolean) => number, result?: ElementTypeName): Fold {
  return {
    outputs({ operands: [a, b] }) {
      const shape = a && b && broadcast(a.shape, b.shape)
      if (a === undefined || b === undefined || shape === undefined || a.type !== b.type) return undefined
      const out = { type: result ?? a.type, shape }
      const isInteger = !isFloat(a.type)
      const elements = ([x, y]: readonly Elements[]) => {
        const left = x && stridedElements(x, expanded(a.shape, shape))
        const right = y && stridedElements(y, expanded(b.shape, shape))
        return filled(out, (place) => of(left?.[place] ?? Number.NaN, right?.[place] ?? Number.NaN, isInteger))
      }
      return [{ ...out, elements }]
    },
  }
}

/** Slices of `sizes` along an axis. */
function pieces({ type, shape }: FoldedType, axis: number, sizes: readonly number[]): FoldedOutput[] | undefined {
  const strides = rowMajorStrides(shape)
  if (sizes.reduce((sum, size) => sum + size, 0) !== shape[axis] || sizes.some((size) => size < 0)) return undefined
  let begin = 0
  return sizes.map((size) => {
    const offset = begin * (strides[axis] ?? 0)
    begin += size
    return view(type, { offset, shape: shape.map((each, place) => (place === axis ? size : each)), strides })
  })
}

/** The largest integer of 32 bits. */
const LARGEST_END = 2 ** 31 - 1

/** Slices with steps. Source: onnx/defs/tensor/defs.cc, Slice. */
function sliced(shape: readonly number[], node: FoldedNode): StridedView | undefined {
  const [starts, ends] = [node.list('starts'), node.list('ends')]
  if (starts === undefined || ends === undefined || starts.length !== ends.length) return undefined
  const axes = node.list('axes') ?? starts.map((_, place) => place)
  const steps = node.list('steps')
  const [sizes, strides] = [[...shape], rowMajorStrides(shape)]
  let offset = 0
  for (const [place, given] of axes.entries()) {
    const axis = normal(given, shape.length)
    const [size, stride, step] = [shape[axis], strides[axis], steps?.[place] ?? 1]
    if (size === undefined || stride === undefined || step === 0) return undefined
    // ONNX Runtime reads the largest integers as the end of the axis in both directions, the standard as its last element.
    if (step < 0 && (ends[place] ?? 0) >= LARGEST_END) return undefined
    const bounded = (value: number, low: number, high: number) =>
      Math.min(high, Math.max(low, value < 0 ? value + size : value))
    const start = bounded(starts[place] ?? 0, 0, step > 0 ? size : size - 1)
    const end = bounded(ends[place] ?? 0, step > 0 ? 0 : -1, size)
    const count = Math.max(0, Math.ceil((end - start) / step))
    offset += count === 0 ? 0 : start * stride
    sizes[axis] = count
    strides[axis] = stride * step
  }
  return { offset, shape: sizes, strides }
}

/** The place of each element's scale: one for all, for its place along an axis, or for its block there. */
function scalePlaces(x: FoldedType, scale: FoldedType, node: FoldedNode): ((place: number) => number) | undefined {
  if (elementCount(scale.shape) === 1 && scale.shape.length <= 1) return () => 0
  const axis = normal(node.integer('axis', 1), x.shape.length)
  const size = x.shape[axis]
  const inner = elementCount(x.shape.slice(axis + 1))
  if (size === undefined) return undefined
  const along = (place: number) => Math.floor(place / inner) % size
  if (scale.shape.length === 1) return scale.shape[0] === size ? along : undefined
  const blocks = scale.shape[axis] ?? 0
  const block = node.integer('block_size', 0)
  const others = x.shape.map((each, place) => (place === axis ? Math.ceil(size / block) : each))
  if (String(others) !== String(scale.shape)) return undefined
  return (place) => {
    const outer = Math.floor(place / (inner * size))
    return (outer * blocks + Math.floor(along(place) / block)) * inner + (place % inner)
  }
}

/**
 * Operators of constants, as far as exporters write them between a constant and a recurrent node. A row maps shapes to
 * shapes; elements follow when they are requested. Source of each: onnx/defs.
 */
export const FOLDS: ReadonlyMap<string, Fold> = new Map(
  Object.entries<Fold>({
    Add: pairwise((a, b) => a + b),
    Sub: pairwise((a, b) => a - b),
    Mul: pairwise((a, b) => a * b),
    Div: pairwise((a, b, isInteger) => (isInteger ? Math.trunc(a / b) : a / b)),
    Equal: pairwise((a, b) => Number(a === b), 'bool'),
    Greater: pairwise((a, b) => Number(a > b), 'bool'),
    Less: pairwise((a, b) => Number(a < b), 'bool'),
    Not: {
      outputs: ({ operands: [x] }) => {
        const out = x && { type: 'bool' as const, shape: x.shape }
        return out && [{ ...out, elements: ([bits]) => filled(out, (place) => Number(bits?.[place] === 0)) }]
      },
    },
    Cast: {
      isMove: true,
      outputs(node) {
        const [x] = node.operands
        const type = elementTypeOf('onnx', node.integer('to', 0))
        if (x === undefined || type === undefined || newElements(type, 0) === undefined) return undefined
        const out = { type, shape: x.shape }
        return [
          { ...out, elements: x.type === type ? undefined : ([from]) => filled(out, (place) => from?.[place] ?? 0) },
        ]
      },
    },
    Concat: {
      isMove: true,
      outputs(node) {
        const inputs = node.operands.flatMap((operand) => operand ?? [])
        const [first] = inputs
        if (first === undefined || inputs.length !== node.operands.length) return undefined
        const axis = normal(node.integer('axis', 1), first.shape.length)
        const others = (shape: readonly number[]) => String(shape.filter((_, place) => place !== axis))
        if (inputs.some(({ shape, type }) => others(shape) !== others(first.shape) || type !== first.type))
          return undefined
        const size = inputs.reduce((sum, { shape }) => sum + (shape[axis] ?? Number.NaN), 0)
        const shape = first.shape.map((each, place) => (place === axis ? size : each))
        const inner = elementCount(first.shape.slice(axis + 1))
        const elements = (parts: readonly Elements[]) => {
          const joined = newElements(first.type, elementCount(shape)) ?? new Float32Array()
          const widths = inputs.map((input) => (input.shape[axis] ?? 0) * inner)
          for (let to = 0, row = 0; to < joined.length; row++) {
            for (const [index, width] of widths.entries()) {
              const part = parts[index]?.subarray(row * width, (row + 1) * width)
              if (part !== undefined) joined.set(part, to)
              to += width
            }
          }
          return joined
        }
        return Number.isNaN(size) ? undefined : [{ type: first.type, shape, elements }]
      },
    },
    DequantizeLinear: {
      outputs(node) {
        const [x, scale, zero] = node.operands
        const scaleOf = x && scale && scalePlaces(x, scale, node)
        if (x === undefined || scale === undefined || scaleOf === undefined) return undefined
        const out = { type: scale.type, shape: x.shape }
        const elements = ([quantized, scales, zeros]: readonly Elements[]) =>
          filled(out, (place) => {
            const at = scaleOf(place)
            const shift = zero === undefined ? 0 : (zeros?.[at] ?? 0)
            return Math.fround(((quantized?.[place] ?? 0) - shift) * (scales?.[at] ?? Number.NaN))
          })
        return [{ ...out, elements }]
      },
    },
    Expand: {
      lists: { shape: 1 },
      isMove: true,
      outputs: viewing((from, node) => {
        const to = broadcast(from, node.list('shape') ?? from)
        return to && expanded(from, to)
      }),
    },
    Flatten: {
      isMove: true,
      outputs: reshaping((shape, node) => {
        const axis = normal(node.integer('axis', 1), shape.length)
        return [elementCount(shape.slice(0, axis)), elementCount(shape.slice(axis))]
      }),
    },
    Gather: {
      lists: { indices: 1 },
      outputs(node) {
        const [x] = node.operands
        const [indices, scalar] = [node.list('indices'), node.list('indices.shape')]
        const axis = normal(node.integer('axis', 0), x?.shape.length ?? 0)
        const size = x?.shape[axis]
        if (x === undefined || indices === undefined || scalar === undefined || size === undefined) return undefined
        const places = indices.map((index) => normal(index, size))
        if (places.some((place) => !(place >= 0 && place < size))) return undefined
        const shape = [...x.shape.slice(0, axis), ...scalar, ...x.shape.slice(axis + 1)]
        const inner = elementCount(x.shape.slice(axis + 1))
        const block = places.length * inner
        const out = { type: x.type, shape }
        const elements = ([from]: readonly Elements[]) =>
          filled(out, (to) => {
            const place = places[Math.floor((to % block) / inner)] ?? 0
            return from?.[(Math.floor(to / block) * size + place) * inner + (to % inner)] ?? Number.NaN
          })
        return [{ ...out, elements }]
      },
    },
    Identity: { isMove: true, outputs: reshaping((shape) => shape) },
    Neg: {
      outputs: ({ operands: [x] }) =>
        x && [{ ...x, elements: ([from]) => filled(x, (place) => -(from?.[place] ?? 0)) }],
    },
    Reshape: {
      lists: { shape: 1 },
      isMove: true,
      outputs: reshaping((from, node) => {
        const asked = node.list('shape')
        if (asked === undefined) return undefined
        const keepsZero = node.integer('allowzero', 0) !== 1
        const sizes = asked.map((size, axis) => (size === 0 && keepsZero ? (from[axis] ?? Number.NaN) : size))
        const rest = elementCount(from) / elementCount(sizes.filter((size) => size !== -1))
        return sizes.map((size) => (size === -1 ? rest : size))
      }),
    },
    Shape: {
      isOfShape: true,
      outputs({ operands: [x], integer }) {
        if (x === undefined) return undefined
        // From opset 15 on a part of the axes; array slices count from the end and stop at the ends as ONNX does.
        const sizes = x.shape.slice(integer('start', 0), integer('end', x.shape.length))
        const out = { type: 'int64' as const, shape: [sizes.length] }
        return [{ ...out, elements: () => filled(out, (place) => sizes[place] ?? 0) }]
      },
    },
    Size: {
      isOfShape: true,
      outputs: ({ operands: [x] }) =>
        x && [{ type: 'int64', shape: [], elements: () => Float64Array.of(elementCount(x.shape)) }],
    },
    Slice: { lists: { starts: 1, ends: 2, axes: 3, steps: 4 }, isMove: true, outputs: viewing(sliced) },
    Split: {
      lists: { split: 1 },
      isMove: true,
      outputs(node) {
        const [x] = node.operands
        if (x === undefined) return undefined
        const axis = normal(node.integer('axis', 0), x.shape.length)
        const each = Math.ceil((x.shape[axis] ?? 0) / node.outputs)
        const last = (x.shape[axis] ?? 0) - each * (node.outputs - 1)
        const equal = () => Array.from({ length: node.outputs }, (_, k) => (k === node.outputs - 1 ? last : each))
        return pieces(x, axis, node.list('split') ?? equal())
      },
    },
    Squeeze: {
      lists: { axes: 1 },
      isMove: true,
      outputs: reshaping((shape, node) => {
        const axes = node.list('axes')?.map((axis) => normal(axis, shape.length))
        return shape.filter((size, axis) => (axes === undefined ? size !== 1 : !axes.includes(axis)))
      }),
    },
    Tile: {
      lists: { repeats: 1 },
      isMove: true,
      outputs(node) {
        const [x] = node.operands
        const repeats = node.list('repeats')
        if (x === undefined || repeats?.length !== x.shape.length) return undefined
        const strides = rowMajorStrides(x.shape)
        const strided = {
          offset: 0,
          shape: x.shape.flatMap((size, axis) => [repeats[axis] ?? 1, size]),
          strides: strides.flatMap((stride) => [0, stride]),
        }
        return [{ ...view(x.type, strided), shape: x.shape.map((size, axis) => size * (repeats[axis] ?? 1)) }]
      },
    },
    Transpose: {
      isMove: true,
      lists: {},
      outputs: viewing((shape, node) => {
        const axes = node.list('perm') ?? shape.map((_, axis) => shape.length - 1 - axis)
        const strides = rowMajorStrides(shape)
        if (new Set(axes).size !== shape.length || axes.some((axis) => shape[axis] === undefined)) return undefined
        return {
          offset: 0,
          shape: axes.map((axis) => shape[axis] ?? 0),
          strides: axes.map((axis) => strides[axis] ?? 0),
        }
      }),
    },
    Unsqueeze: {
      lists: { axes: 1 },
      isMove: true,
      outputs: reshaping((shape, node) => {
        const axes = node.list('axes')
        if (axes === undefined) return undefined
        const rank = shape.length + axes.length
        const added = new Set(axes.map((axis) => normal(axis, rank)))
        const rest = [...shape]
        return Array.from({ length: rank }, (_, axis) => (added.has(axis) ? 1 : (rest.shift() ?? Number.NaN)))
      }),
    },
    ConstantOfShape: { lists: { shape: 0 }, outputs: () => undefined },
    If: { outputs: () => undefined },
  }),
)
