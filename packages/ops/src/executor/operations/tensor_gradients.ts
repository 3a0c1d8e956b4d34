import { type BackendTensor, type DenseOps, DTYPES, type TensorLike } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'
import type { GradientContext, GradientRule } from './row.js'
import { isSameShape } from './walk.js'

type Shape = readonly number[]
type Pass = GradientRule['pass']

/** Sums x over the dimensions in which `shape` was repeated to it; x itself if there are none. */
export function sumTo(ops: DenseOps, x: BackendTensor, shape: Shape): BackendTensor {
  if (isSameShape(x.shape, shape)) return x
  const more = x.shape.length - shape.length
  const axes = [...x.shape.keys()].filter((axis) => axis < more || (shape[axis - more] === 1 && x.shape[axis] !== 1))
  if (axes.length === 0) return x
  const sum = ops.sum(x, { axes })
  return sum.shape.length === shape.length ? sum : ops.reshape(sum, shape)
}

/** The gradients of operands that broadcast, each computed where it is needed and summed to its operand's shape. */
export function broadcastGradient(
  reads: readonly string[],
  gradients: Readonly<Record<string, (dy: BackendTensor, rule: GradientContext) => BackendTensor>>,
): GradientRule {
  return {
    reads,
    pass: (dy, rule) =>
      Object.fromEntries(
        Object.entries(gradients)
          .filter(([key]) => rule.wants(key))
          .map(([key, gradient]) => [key, sumTo(rule.ops, gradient(dy, rule), rule.shapes[key])]),
      ),
  }
}

/** The gradient of a row of one operand. */
export function gradientBy(
  reads: readonly string[],
  gradient: (dy: BackendTensor, rule: GradientContext) => BackendTensor,
): GradientRule {
  return { reads, pass: (dy, rule) => ({ input: gradient(dy, rule) }) }
}

/** A number, as an operand that repeats. */
export function scalar({ dtype }: BackendTensor, value: number): TensorLike {
  return { data: DTYPES[dtype].array.of(value), shape: [] } as TensorLike
}

/** dy if `condition` is not 0, else 0; with `isElse` the other way around. */
export function where(ops: DenseOps, condition: TensorLike, dy: BackendTensor, isElse = false): BackendTensor {
  const zero = scalar(dy, 0)
  return isElse ? ops.select(condition, zero, dy) : ops.select(condition, dy, zero)
}

/** The gradient of a row that takes b if `takesB` compares it with a, else a. */
export function oneOfTwo(takesB: 'less' | 'greater'): GradientRule {
  return broadcastGradient(['a', 'b'], {
    a: (dy, { ops, read: { a, b } }) => where(ops, ops[takesB](b, a), dy, true),
    b: (dy, { ops, read: { a, b } }) => where(ops, ops[takesB](b, a), dy),
  })
}

function isReduced(rank: number, axes: Shape | undefined, axis: number): boolean {
  return axes === undefined || axes.includes(axis) || axes.includes(axis - rank)
}

/** A result of a reduction, or its gradient, with its axes as dimensions of size 1. */
function kept({ ops, shapes: { input }, options: { axes } }: GradientContext, x: BackendTensor): BackendTensor {
  return ops.reshape(
    x,
    input.map((size: number, axis: number) => (isReduced(input.length, axes, axis) ? 1 : size)),
  )
}

export const sumGradient = gradientBy([], (dy, rule) => rule.ops.broadcast(kept(rule, dy), rule.shapes['input']))

export const meanGradient = gradientBy([], (dy, rule) => {
  const { ops, shapes } = rule
  const count = elementCount(shapes['input']) / elementCount(dy.shape)
  return ops.broadcast(ops.divide(kept(rule, dy), scalar(dy, count)), shapes['input'])
})

/** Equal elements share it. */
export const maxGradient = gradientBy(['input', 'output'], (dy, rule) => {
  const { ops, read, options } = rule
  const isLargest = ops.equal(read['input'], kept(rule, read['output']))
  const count = ops.sum(isLargest, { axes: options['axes'], keepDims: true })
  return ops.multiply(isLargest, ops.divide(kept(rule, dy), count))
})

export const matmulGradient: GradientRule = {
  reads: ['a', 'b'],
  pass(dy, { ops, read: { a, b }, shapes, options: { transposeA = false, transposeB = false }, wants }) {
    const ofA = () =>
      transposeA
        ? ops.matmul(b, dy, { transposeA: transposeB, transposeB: true })
        : ops.matmul(dy, b, { transposeB: !transposeB })
    const ofB = () => {
      // Matrices below each other that meet one matrix: one product, as in the forward.
      const isOne = shapes['b'].length === 2 && !transposeA
      const below = (x: TensorLike) => (isOne ? ops.reshape(x, flatRows(x.shape)) : x)
      const [left, right] = [below(a), below(dy)]
      return transposeB
        ? ops.matmul(right, left, { transposeA: true, transposeB: transposeA })
        : ops.matmul(left, right, { transposeA: !transposeA })
    }
    return {
      a: wants('a') ? sumTo(ops, ofA(), shapes['a']) : undefined,
      b: wants('b') ? sumTo(ops, ofB(), shapes['b']) : undefined,
    }
  },
}

function flatRows(shape: Shape): Shape {
  return [elementCount(shape.slice(0, -1)), shape[shape.length - 1]]
}

export const concatGradient: Pass = (dy, { ops, shapes: { inputs }, options: { axis = -1 } }) => {
  const at = axis < 0 ? axis + dy.shape.length : axis
  let begin = 0
  return {
    inputs: inputs.map((shape: Shape) => {
      begin += shape[at]
      return ops.slice(
        dy,
        shape.map((size, each) => (each === at ? begin - size : 0)),
        shape,
      )
    }),
  }
}

export const stackGradient: Pass = (dy, { ops, shapes: { inputs }, options: { axis = 0 } }) => {
  const at = axis < 0 ? axis + dy.shape.length : axis
  return {
    inputs: inputs.map((shape: Shape, k: number) => {
      const begins = dy.shape.map((_, each) => (each === at ? k : 0))
      const sizes = dy.shape.map((size, each) => (each === at ? 1 : size))
      return ops.reshape(ops.slice(dy, begins, sizes), shape)
    }),
  }
}

export const sliceGradient = gradientBy([], (dy, { ops, shapes: { input }, options: { begins } }) =>
  ops.pad(
    dy,
    begins,
    input.map((size: number, axis: number) => size - begins[axis] - dy.shape[axis]),
  ),
)

export const columnsGradient = gradientBy([], (dy, { ops, shapes: { input }, options: { begin, count } }) => {
  const last = input.length - 1
  const atEnd = (size: number) => input.map((_: number, axis: number) => (axis === last ? size : 0))
  return ops.pad(dy, atEnd(begin), atEnd(input[last] - begin - count))
})
