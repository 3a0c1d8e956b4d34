import type { OnnxGraph } from './onnx_graph.js'

/** A size that is the same in batches of other sizes, or two that are not. */
export type TracedSize = number | readonly [number, number]

/** A call of an operation, as a layer's forward made it. */
interface TracedCall {
  /** The values of its operands, in a row with the elements of lists. */
  readonly inputs: readonly string[]
  /** Shapes of its operands. */
  readonly shapes: readonly (readonly TracedSize[])[]
  /** Its other arguments, in their order. */
  readonly rest: readonly unknown[]
}

/** The nodes that compute a call; undefined if there are none. */
type NodesOf = (graph: OnnxGraph, call: TracedCall) => string | undefined

/** An end beyond every axis. */
const END = 2 ** 31 - 1
export const TYPES = { float32: 1, int32: 6, float64: 11, bool: 9 } as const

const one =
  (operator: string): NodesOf =>
  (graph, { inputs }) =>
    graph.node(operator, inputs)

const compared =
  (operator: string): NodesOf =>
  (graph, { inputs }) =>
    graph.node('Cast', [graph.node(operator, inputs)], { to: TYPES[graph.dtype] })

interface Reduced {
  readonly axes?: readonly number[]
  readonly keepDims?: boolean
}

const reduced =
  (operator: string): NodesOf =>
  (graph, { inputs, rest: [options] }) => {
    const { axes, keepDims = false } = (options ?? {}) as Reduced
    return graph.node(operator, inputs, { ...(axes && { axes }), keepdims: Number(keepDims) })
  }

/** ReduceSum takes its axes as an input. */
const summed: NodesOf = (graph, { inputs, rest: [options] }) => {
  const { axes, keepDims = false } = (options ?? {}) as Reduced
  return graph.node('ReduceSum', [...inputs, ...(axes ? [graph.integers(...axes)] : [])], {
    keepdims: Number(keepDims),
  })
}

const ACTIVATIONS = {
  tanh: 'Tanh',
  sigmoid: 'Sigmoid',
  relu: 'Relu',
  elu: 'Elu',
  softplus: 'Softplus',
  softmax: 'Softmax',
} as const

/** An activation of a layer. */
export function onnxActivation(graph: OnnxGraph, x: string, activation: unknown): string {
  if (activation === undefined || activation === 'linear') return x
  return graph.node(
    ACTIVATIONS[activation as keyof typeof ACTIVATIONS],
    [x],
    activation === 'softmax' ? { axis: -1 } : {},
  )
}

/** The step of a sequence at a place, -1 for the last one. */
function stepOf(graph: OnnxGraph, x: string, place: number): string {
  return graph.node('Squeeze', [graph.node('Gather', [x, graph.integers(place)], { axis: 0 }), graph.integers(0)])
}

function isSame(a: TracedSize | undefined, b: TracedSize | undefined): boolean {
  return String(a) === String(b)
}

/** The operations of a tape as ONNX has them. A layer whose forward makes others has no counterpart. */
export const ONNX_OPERATIONS: ReadonlyMap<string, NodesOf> = new Map(
  Object.entries<NodesOf>({
    add: one('Add'),
    subtract: one('Sub'),
    multiply: one('Mul'),
    divide: one('Div'),
    minimum: one('Min'),
    maximum: one('Max'),
    power: one('Pow'),
    greater: compared('Greater'),
    less: compared('Less'),
    equal: compared('Equal'),
    exp: one('Exp'),
    log: one('Log'),
    sqrt: one('Sqrt'),
    abs: one('Abs'),
    negate: one('Neg'),
    sin: one('Sin'),
    cos: one('Cos'),
    square: (graph, { inputs: [x] }) => graph.node('Mul', [x, x]),
    select: (graph, { inputs: [condition, a, b] }) => {
      return graph.node('Where', [graph.node('Cast', [condition], { to: TYPES.bool }), a, b])
    },
    sum: summed,
    mean: reduced('ReduceMean'),
    max: reduced('ReduceMax'),
    linear: (graph, { inputs: [x, kernel, bias] }) => graph.node('Add', [graph.node('MatMul', [x, kernel]), bias]),
    matmul: (graph, { inputs, shapes, rest: [options] }) => {
      const { transposeA, transposeB } = (options ?? {}) as Readonly<Record<string, boolean>>
      const operands = [transposeA, transposeB].map((isTurned, k) => {
        const axes = shapes[k].map((_, axis) => axis)
        return isTurned
          ? graph.transposed(inputs[k], [...axes.slice(0, -2), axes.length - 1, axes.length - 2])
          : inputs[k]
      })
      return graph.node('MatMul', operands)
    },
    embedding: one('Gather'),
    activate: (graph, { inputs: [x], rest: [activation, options] }) => {
      const { maximum } = (options ?? {}) as { readonly maximum?: number }
      const y = onnxActivation(graph, x, activation)
      return maximum === undefined ? y : graph.node('Min', [y, graph.scalar(maximum)])
    },
    // Opset 14 has no LayerNormalization.
    layerNorm: (graph, { inputs: [x, gamma, beta], rest: [options] }) => {
      const { epsilon = 1e-3 } = (options ?? {}) as { readonly epsilon?: number }
      const mean = (of: string) => graph.node('ReduceMean', [of], { axes: [-1], keepdims: 1 })
      const centered = graph.node('Sub', [x, mean(x)])
      const variance = mean(graph.node('Mul', [centered, centered]))
      const shifted = graph.node('Add', [variance, graph.scalar(epsilon)])
      const normal = graph.node('Div', [centered, graph.node('Sqrt', [shifted])])
      return graph.node('Add', [graph.node('Mul', [normal, gamma]), beta])
    },
    maskSequence: (_, { inputs: [x] }) => x,
    // The end is clamped to the beginning of the axis.
    reverseSequence: (graph, { inputs: [x] }) => graph.sliced(x, 0, -1, -(2 ** 31), -1),
    poolSequence: (graph, { inputs: [x], shapes: [shape], rest: [, options] }) => {
      const { pooling, reversedFrom } = options as { readonly pooling: string; readonly reversedFrom?: number }
      if (pooling === 'mean') return graph.node('ReduceMean', [x], { axes: [0], keepdims: 0 })
      if (pooling === 'max') return graph.node('ReduceMax', [x], { axes: [0], keepdims: 0 })
      if (reversedFrom === undefined) return stepOf(graph, x, -1)
      const sides = [graph.sliced(x, 2, 0, reversedFrom), graph.sliced(x, 2, reversedFrom, shape[2] as number)]
      return graph.node('Concat', [stepOf(graph, sides[0], -1), stepOf(graph, sides[1], 0)], { axis: 1 })
    },
    attend: (graph, { inputs: [x, scores] }) => {
      const weighted = graph.node('Mul', [x, graph.node('Softmax', [scores], { axis: 0 })])
      return graph.node('ReduceSum', [weighted, graph.integers(0)], { keepdims: 0 })
    },
    concat: (graph, { inputs, rest: [options] }) => {
      return graph.node('Concat', inputs, { axis: (options as { readonly axis?: number } | undefined)?.axis ?? -1 })
    },
    stack: (graph, { inputs, rest: [options] }) => {
      const { axis = 0 } = (options ?? {}) as { readonly axis?: number }
      const parts = inputs.map((x) => graph.node('Unsqueeze', [x, graph.integers(axis)]))
      return graph.node('Concat', parts, { axis })
    },
    reshape: (graph, { inputs: [x], shapes: [from], rest: [shape] }) => {
      const sizes = (shape as readonly TracedSize[]).map((size, k) => {
        return typeof size === 'number' ? size : isSame(size, from[k]) ? 0 : -1
      })
      return sizes.filter((size) => size === -1).length < 2 ? graph.reshaped(x, ...sizes) : undefined
    },
    broadcast: (graph, { inputs: [x], shapes: [from], rest: [shape] }) => {
      const all = shape as readonly TracedSize[]
      const isKnown = all.every(
        (size, k) => typeof size === 'number' || isSame(size, from[k - all.length + from.length]),
      )
      if (!isKnown) return undefined
      return graph.node('Expand', [x, graph.integers(...all.map((size) => (typeof size === 'number' ? size : 1)))])
    },
    transpose: (graph, { inputs: [x], rest: [order] }) => graph.transposed(x, order as readonly number[]),
    columns: (graph, { inputs: [x], rest: [begin, count] }) => {
      return graph.sliced(x, -1, begin as number, (begin as number) + (count as number))
    },
    slice: (graph, { inputs: [x], shapes: [from], rest: [begins, sizes] }) => {
      const starts = begins as readonly TracedSize[]
      const ends = (sizes as readonly TracedSize[]).map((size, k) => {
        if (isSame(size, from[k]) && starts[k] === 0) return END
        return typeof size === 'number' ? Number(starts[k]) + size : Number.NaN
      })
      if (ends.some(Number.isNaN)) return undefined
      return graph.node('Slice', [x, graph.integers(...(starts as number[])), graph.integers(...ends)])
    },
    pad: (graph, { inputs: [x], rest }) => {
      const counts = (rest as readonly (readonly TracedSize[])[]).flat()
      if (!counts.every((count) => typeof count === 'number')) return undefined
      return graph.node('Pad', [x, graph.integers(...(counts as number[]))])
    },
  }),
)
