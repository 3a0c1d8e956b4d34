import { elementCount } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import { checkShape } from '../arguments/tensor_arguments.js'
import { type DropoutMask, dropoutMask } from './dropout_mask.js'
import {
  AXES,
  AXIS,
  BEGINS,
  columnIndex,
  DRAW,
  FLAG_OPTION,
  ORDER,
  PADDING,
  PART_SIZES,
  REPEATED,
  RESULT_SIZE,
  SAME_COUNT,
  SEED,
  SHAPE,
  STACK_AXIS,
} from './option_rules.js'
import { type GradientContext, type GradientRule, row } from './row.js'
import {
  broadcastGradient,
  columnsGradient,
  concatGradient,
  gradientBy,
  matmulGradient,
  maxGradient,
  meanGradient,
  oneOfTwo,
  scalar,
  sliceGradient,
  stackGradient,
  sumGradient,
  sumTo,
  where,
} from './tensor_gradients.js'
import {
  broadcastShape,
  flatWalk,
  isSameShape,
  partView,
  repeatedView,
  type View,
  viewOf,
  type Walk,
  walkOf,
} from './walk.js'

type Shape = readonly number[]
type Shaped = Pick<TensorLike, 'shape'>

/** The numbers of a row over elements: one walk over the result and the operands, or one for each of a list. */
export interface Walks {
  readonly shape: Shape
  readonly walks: readonly Walk[]
}

/** f(a, b), by NumPy's rule of broadcasting. */
function pair(action: string, gradient: GradientRule | 'zero') {
  return row({
    action,
    takes: ['a [~]', 'b [~]'],
    gives: ['output [shape]'],
    complete: (_, operands: readonly Shaped[]) => together(action, operands),
    gradient,
  })
}

/** f(input) */
function one(
  action: string,
  reads: readonly string[],
  gradient: (dy: BackendTensor, rule: GradientContext) => BackendTensor,
) {
  return row({
    action,
    takes: ['input […]'],
    gives: ['output […]'],
    complete: ({ rows }: { readonly rows: number }) => ({ walks: [flatWalk(rows, 2)] }),
    gradient: gradientBy(reads, gradient),
  })
}

function together(action: string, operands: readonly Shaped[]): Walks {
  const [first] = operands as readonly [Shaped]
  if (operands.every(({ shape }) => isSameShape(shape, first.shape))) {
    return { shape: first.shape, walks: [flatWalk(elementCount(first.shape), operands.length + 1)] }
  }
  const shape = operands.reduce<Shape>((all, operand) => broadcastShape(all, operand.shape) as Shape, first.shape)
  const views = operands.map((operand) => repeatedView(operand.shape, shape))
  return { shape, walks: [walkOf(action, shape, [viewOf(shape), ...views])] }
}

/** y = x over `shape`, where `y` and `x` say. */
const copied = (action: string, shape: Shape, y: View, x: View): Walk => walkOf(action, shape, [y, x])

interface Reduction {
  readonly axes: readonly number[]
  readonly keepDims: boolean
}

/** A sum of any axes. */
function reduction(action: string, gradient: GradientRule, isOfNone = true) {
  return row({
    action,
    takes: ['input […]'],
    gives: ['output [shape]'],
    options: { axes: AXES, keepDims: FLAG_OPTION },
    complete({ axes, keepDims }: Reduction, [{ shape }]: readonly [Shaped]) {
      const isSummed = shape.map((_, axis) => axes.includes(axis))
      const left = shape.filter((_, axis) => !isSummed[axis])
      const summed = shape.filter((_, axis) => isSummed[axis])
      if (!isOfNone && elementCount(summed) === 0 && elementCount(left) > 0) {
        throw codedRangeError(
          'ERR_SHAPE',
          `Cannot ${action} as the axes [${axes.join(',')}] of input must have an element: current shape is [${shape.join(',')}]`,
          { argument: 'input', actual: shape },
        )
      }
      const { strides } = viewOf(shape)
      const from = (isOuter: boolean): View => ({
        begin: 0,
        strides: strides.filter((_, axis) => isSummed[axis] !== isOuter),
      })
      return {
        shape: keepDims ? shape.map((size, axis) => (isSummed[axis] ? 1 : size)) : left,
        outer: walkOf(action, left, [viewOf(left), from(true)]),
        inner: walkOf(action, summed, [from(false)]),
      }
    },
    gradient,
  })
}

/** One part of the result for each input. */
function joined(action: string, inputs: readonly Shaped[], axis: number): Walks {
  const [first] = inputs as readonly [Shaped]
  if (first.shape.length === 0) checkShape(action, 'inputs[0]', first.shape, ['…', 'E'])
  const expected = first.shape.map((size, each) => (each === axis ? 'E' : size))
  for (const [k, { shape }] of inputs.entries()) checkShape(action, `inputs[${k}]`, shape, expected)
  const sum = inputs.reduce((columns, input) => columns + input.shape[axis], 0)
  const shape = first.shape.map((size, each) => (each === axis ? sum : size))
  let begin = 0
  const walks = inputs.map((input) => {
    const begins = shape.map((_, each) => (each === axis ? begin : 0))
    begin += input.shape[axis]
    return copied(action, input.shape, partView(shape, begins), viewOf(input.shape))
  })
  return { shape, walks }
}

interface Transposes {
  readonly transposeA: boolean
  readonly transposeB: boolean
}

/** Products c = a·b of matrices, one behind the other. */
export interface Products {
  /** How many there are, and the elements from one to the next in c, a and b; 0 if it is the same matrix. */
  readonly count: number
  readonly steps: readonly [c: number, a: number, b: number]
  readonly rows: number
  readonly columns: number
  readonly inner: number
  readonly transposeA: boolean
  readonly transposeB: boolean
}

function productOf({ transposeA, transposeB }: Transposes, a: Shape, b: Shape): Products & { readonly shape: Shape } {
  const action = 'multiply matrices'
  const size = (shape: Shape, fromLast: number) => shape[shape.length - fromLast]
  if (a.length < 2) checkShape(action, 'a', a, ['…', ...(transposeA ? ['K', 'M'] : ['M', 'K'])])
  const [rows, inner] = transposeA ? [size(a, 1), size(a, 2)] : [size(a, 2), size(a, 1)]
  const [leading, own] = [a.slice(0, -2), b.slice(0, -2)]
  const expected = [...(leading.length === 0 || own.length === 0 ? own : leading)]
  const matrix = transposeB ? ['N', inner] : [inner, 'N']
  checkShape(action, 'b', b, b.length < 2 ? ['…', ...matrix] : [...expected, ...matrix])
  const columns = size(b, transposeB ? 2 : 1)
  const all = leading.length === 0 ? own : leading
  const shape = [...all, rows, columns]
  const count = elementCount(all)
  // Matrices below each other are one.
  if (own.length === 0 && !transposeA) {
    return { shape, count: 1, steps: [0, 0, 0], rows: rows * count, columns, inner, transposeA, transposeB }
  }
  const steps = [
    rows * columns,
    leading.length === 0 ? 0 : rows * inner,
    own.length === 0 ? 0 : inner * columns,
  ] as const
  return { shape, count, steps, rows, columns, inner, transposeA, transposeB }
}

/** Which numbers are drawn: element i from the block of Philox4x32-10 of its number, as masks of dropout are. */
export interface RandomDraw extends Omit<DropoutMask, 'threshold' | 'kept'> {}

/** Random numbers of any shape. */
function drawn(action: string) {
  return row({
    action,
    takes: ['shape'],
    gives: ['output [shape]'],
    options: { shape: SHAPE, seed: SEED, draw: DRAW },
    complete: (options: Readonly<Record<'seed' | 'draw', number>>): RandomDraw => dropoutMask({ ...options, rate: 0 }),
    gradient: 'zero',
  })
}

/** Rows that take tensors of any shape. */
export const TENSOR_ROWS = {
  add: pair('add', broadcastGradient([], { a: (dy) => dy, b: (dy) => dy })),
  subtract: pair('subtract', broadcastGradient([], { a: (dy) => dy, b: (dy, { ops }) => ops.negate(dy) })),
  multiply: pair(
    'multiply element by element',
    broadcastGradient(['a', 'b'], {
      a: (dy, { ops, read }) => ops.multiply(dy, read['b']),
      b: (dy, { ops, read }) => ops.multiply(dy, read['a']),
    }),
  ),
  divide: pair(
    'divide',
    broadcastGradient(['b', 'output'], {
      a: (dy, { ops, read: { b } }) => ops.divide(dy, b),
      b: (dy, { ops, read: { b, output } }) => ops.negate(ops.divide(ops.multiply(dy, output), b)),
    }),
  ),
  minimum: pair('take the smaller of two', oneOfTwo('less')),
  maximum: pair('take the larger of two', oneOfTwo('greater')),
  power: pair(
    'take a power',
    broadcastGradient(['a', 'b', 'output'], {
      a: (dy, { ops, read: { a, b } }) =>
        ops.multiply(ops.multiply(dy, b), ops.power(a, ops.subtract(b, scalar(dy, 1)))),
      // 0 to any power stays 0.
      b: (dy, { ops, read: { a, output } }) =>
        where(ops, ops.equal(a, scalar(dy, 0)), ops.multiply(dy, ops.multiply(output, ops.log(a))), true),
    }),
  ),
  greater: pair('compare', 'zero'),
  less: pair('compare', 'zero'),
  equal: pair('compare', 'zero'),
  exp: one('take the exponential', ['output'], (dy, { ops, read }) => ops.multiply(dy, read['output'])),
  log: one('take the logarithm', ['input'], (dy, { ops, read }) => ops.divide(dy, read['input'])),
  sqrt: one('take the square root', ['output'], (dy, { ops, read: { output } }) =>
    ops.divide(dy, ops.add(output, output)),
  ),
  abs: one('take the absolute value', ['input'], (dy, { ops, read: { input } }) =>
    ops.multiply(dy, ops.subtract(ops.greater(input, scalar(dy, 0)), ops.less(input, scalar(dy, 0)))),
  ),
  negate: one('negate', [], (dy, { ops }) => ops.negate(dy)),
  square: one('square', ['input'], (dy, { ops, read: { input } }) => ops.multiply(dy, ops.add(input, input))),
  sin: one('take the sine', ['input'], (dy, { ops, read }) => ops.multiply(dy, ops.cos(read['input']))),
  cos: one('take the cosine', ['input'], (dy, { ops, read }) => ops.negate(ops.multiply(dy, ops.sin(read['input'])))),
  select: row({
    action: 'select',
    takes: ['condition [~]', 'a [~]', 'b [~]'],
    gives: ['output [shape]'],
    complete: (_, operands: readonly Shaped[]) => together('select', operands),
    gradient: broadcastGradient(['condition'], {
      a: (dy, { ops, read }) => where(ops, read['condition'], dy),
      b: (dy, { ops, read }) => where(ops, read['condition'], dy, true),
    }),
  }),
  sum: reduction('sum', sumGradient),
  mean: reduction('take a mean', meanGradient),
  max: reduction('take the largest element', maxGradient, false),
  matmul: row({
    action: 'multiply matrices',
    takes: ['a […*]', 'b […*]'],
    gives: ['output [shape]'],
    options: { transposeA: FLAG_OPTION, transposeB: FLAG_OPTION },
    complete: (options: Transposes, [a, b]: readonly [Shaped, Shaped]) => productOf(options, a.shape, b.shape),
    gradient: matmulGradient,
  }),
  concat: row({
    action: 'concatenate',
    takes: ['inputs... […*]'],
    gives: ['output [shape]'],
    options: { axis: AXIS },
    complete: ({ axis }: { readonly axis: number }, [inputs]: readonly [readonly Shaped[]]) =>
      joined('concatenate', inputs, axis),
    gradient: { pass: concatGradient },
  }),
  stack: row({
    action: 'stack',
    takes: ['inputs... […]'],
    gives: ['output [shape]'],
    options: { axis: STACK_AXIS },
    complete({ axis }: { readonly axis: number }, [inputs]: readonly [readonly Shaped[]]) {
      const parts = inputs.map(({ shape }) => ({ shape: [...shape.slice(0, axis), 1, ...shape.slice(axis)] }))
      return joined('stack', parts, axis)
    },
    gradient: { pass: stackGradient },
  }),
  reshape: row({
    action: 'reshape',
    takes: ['input […]', 'shape'],
    gives: ['output [shape]'],
    options: { shape: SAME_COUNT },
    complete: ({ rows }: { readonly rows: number }) => ({ walks: [flatWalk(rows, 2)] }),
    gradient: gradientBy([], (dy, { ops, shapes }) => ops.reshape(dy, shapes['input'])),
  }),
  broadcast: row({
    action: 'broadcast',
    takes: ['input […]', 'shape'],
    gives: ['output [shape]'],
    options: { shape: REPEATED },
    complete: ({ shape }: { readonly shape: Shape }, [input]: readonly [Shaped]) => ({
      walks: [copied('broadcast', shape, viewOf(shape), repeatedView(input.shape, shape))],
    }),
    gradient: gradientBy([], (dy, { ops, shapes }) => sumTo(ops, dy, shapes['input'])),
  }),
  transpose: row({
    action: 'transpose',
    takes: ['input […]', 'order'],
    gives: ['output [shape]'],
    options: { order: ORDER },
    complete({ order }: { readonly order: readonly number[] }, [input]: readonly [Shaped]) {
      const shape = order.map((axis) => input.shape[axis])
      const { strides } = viewOf(input.shape)
      const x = { begin: 0, strides: order.map((axis) => strides[axis]) }
      return { shape, walks: [copied('transpose', shape, viewOf(shape), x)] }
    },
    gradient: gradientBy([], (dy, { ops, options: { order } }) =>
      ops.transpose(
        dy,
        order.map((_: number, axis: number) => order.indexOf(axis)),
      ),
    ),
  }),
  slice: row({
    action: 'slice',
    takes: ['input […]', 'begins', 'sizes'],
    gives: ['output [sizes]'],
    options: { begins: BEGINS, sizes: PART_SIZES },
    complete: ({ begins, sizes }: Readonly<Record<'begins' | 'sizes', Shape>>, [input]: readonly [Shaped]) => ({
      walks: [copied('slice', sizes, viewOf(sizes), partView(input.shape, begins))],
    }),
    gradient: sliceGradient,
  }),
  pad: row({
    action: 'pad',
    takes: ['input […]', 'before', 'after'],
    gives: ['output [shape]'],
    options: { before: PADDING, after: PADDING },
    complete({ before, after }: Readonly<Record<'before' | 'after', Shape>>, [input]: readonly [Shaped]) {
      const shape = input.shape.map((size, axis) => size + before[axis] + after[axis])
      return { shape, walks: [copied('pad', input.shape, partView(shape, before), viewOf(input.shape))] }
    },
    gradient: gradientBy([], (dy, { ops, shapes, options }) => ops.slice(dy, options['before'], shapes['input'])),
  }),
  columns: row({
    action: 'take columns',
    takes: ['input […,E]', 'begin', 'count'],
    gives: ['output […,count]'],
    options: {
      begin: columnIndex('an integer from 0 to the number of columns', ({ columns }) => columns, 1),
      count: columnIndex('an integer from 0 to the columns after begin', ({ columns, begin }) => columns - begin, 1),
    },
    complete({ rows, columns, begin, count }: Readonly<Record<'rows' | 'columns' | 'begin' | 'count', number>>) {
      // Most models take columns at each step: the walk as it is, without views.
      return { walks: [[...[1, 1, rows, count], ...[0, 0, 0, count, 1], ...[begin, 0, 0, columns, 1]]] }
    },
    gradient: columnsGradient,
  }),
  oneHot: row({
    action: 'encode class ids',
    takes: ['ids:0..V-1 […]', 'classes'],
    gives: ['output […,V]'],
    options: { classes: RESULT_SIZE },
    gradient: 'zero',
  }),
  uniform: drawn('draw uniform numbers'),
  normal: drawn('draw normal numbers'),
}
