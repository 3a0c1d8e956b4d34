import { elementCount } from '@cudnn-rnn/canonical'
import { addProduct, type Value } from '@cudnn-rnn/ops/executor'
import { CellRun } from '../../src/cell/cell_run.js'
import type { FloatTensor } from '../../src/cell/float_tensor.js'
import type { StepGraph } from '../../src/graph/step_graph.js'
import { StepProgram } from '../../src/graph/graph_cell.js'
import { float64 } from '../cell_checks.js'

type Tensors = ReadonlyMap<string, FloatTensor>
type Shapes = Readonly<Record<string, readonly number[]>>

/** An operation of `StepGraph`, its operands and variables by name, and its definition. */
export interface GraphOperation {
  readonly operands: Shapes
  readonly variables?: Shapes
  /** The result of the operation. */
  apply(graph: StepGraph, operands: Readonly<Record<string, Value>>): Value
  /** Element `column` of row `row` of the result, from the elements of operands and variables. */
  expected(of: (name: string, row: number, column: number) => number, row: number, column: number): number
}

const sum = (count: number, term: (k: number) => number) =>
  Array.from({ length: count }, (_, k) => term(k)).reduce((total, each) => total + each, 0)
const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))
const bounded = (x: number, bound: number) => Math.min(bound, Math.max(-bound, x))

const ROWS = 3
const GATE = { period: 'period', phase: 'phase', ratioOn: 'ratio' }

/** The operations of a step, as `step_graph.ts` defines them. */
export const GRAPH_OPERATIONS: Readonly<Record<string, GraphOperation>> = {
  'linear of one operand': {
    operands: { x: [ROWS, 2] },
    variables: { kernel: [2, 4], bias: [4] },
    apply: (graph, { x }) => graph.linear([x], 'kernel', 'bias'),
    expected: (of, row, column) => of('bias', 0, column) + sum(2, (k) => of('x', row, k) * of('kernel', k, column)),
  },
  'linear of two operands without a bias': {
    operands: { x: [ROWS, 2], h: [ROWS, 1] },
    variables: { kernel: [3, 4] },
    apply: (graph, { x, h }) => graph.linear([x, h], 'kernel'),
    expected: (of, row, column) =>
      of('h', row, 0) * of('kernel', 2, column) + sum(2, (k) => of('x', row, k) * of('kernel', k, column)),
  },
  'linear of one operand twice': {
    operands: { x: [ROWS, 2] },
    variables: { kernel: [4, 2] },
    apply: (graph, { x }) => graph.linear([x, x], 'kernel'),
    expected: (of, row, column) =>
      sum(2, (k) => of('x', row, k) * (of('kernel', k, column) + of('kernel', 2 + k, column))),
  },
  'add with a variable': {
    operands: { x: [ROWS, 4] },
    variables: { bias: [4] },
    apply: (graph, { x }) => graph.t.add(x, graph.variable('bias')),
    expected: (of, row, column) => of('x', row, column) + of('bias', 0, column),
  },
  'multiply with a variable': {
    operands: { x: [ROWS, 4] },
    variables: { factors: [4] },
    apply: (graph, { x }) => graph.t.multiply(x, graph.variable('factors')),
    expected: (of, row, column) => of('x', row, column) * of('factors', 0, column),
  },
  sigmoid: {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.sigmoid(x),
    expected: (of, row, column) => sigmoid(of('x', row, column)),
  },
  'sigmoid with a shift and a bound of its argument': {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.sigmoid(x, 0.5, 0.7),
    expected: (of, row, column) => sigmoid(bounded(of('x', row, column) + 0.5, 0.7)),
  },
  'tanh with a bound of its argument': {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.activate(x, 'tanh', 0, 0.4),
    expected: (of, row, column) => Math.tanh(bounded(of('x', row, column), 0.4)),
  },
  'relu with a shift and a bound of its argument': {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.activate(x, 'relu', -0.1, 0.3),
    expected: (of, row, column) => Math.max(0, bounded(of('x', row, column) - 0.1, 0.3)),
  },
  'hard_sigmoid with a shift and a bound of its argument': {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.activate(x, { name: 'hard_sigmoid', alpha: 0.7, beta: 0.1 }, -0.1, 0.4),
    expected: (of, row, column) => Math.min(1, Math.max(0, 0.7 * bounded(of('x', row, column) - 0.1, 0.4) + 0.1)),
  },
  affine: {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.activate(x, { name: 'affine', alpha: -2, beta: 0.5 }),
    expected: (of, row, column) => 0.5 - 2 * of('x', row, column),
  },
  'tanh of an operand that is read twice': {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.t.multiply(graph.tanh(x), graph.relu(x)),
    expected: (of, row, column) => Math.tanh(of('x', row, column)) * Math.max(0, of('x', row, column)),
  },
  'clip that stops the gradient outside': {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.clip(x, 0.35, 'zero_outside'),
    expected: (of, row, column) => bounded(of('x', row, column), 0.35),
  },
  'clip without a bound': {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.clip(graph.tanh(x), Number.POSITIVE_INFINITY, 'zero_outside'),
    expected: (of, row, column) => Math.tanh(of('x', row, column)),
  },
  add: {
    operands: { a: [ROWS, 2], b: [ROWS, 2] },
    apply: (graph, { a, b }) => graph.t.add(a, b),
    expected: (of, row, column) => of('a', row, column) + of('b', row, column),
  },
  'add of one operand to itself': {
    operands: { a: [ROWS, 2] },
    apply: (graph, { a }) => graph.t.add(a, a),
    expected: (of, row, column) => 2 * of('a', row, column),
  },
  multiply: {
    operands: { a: [ROWS, 2], b: [ROWS, 2] },
    apply: (graph, { a, b }) => graph.t.multiply(a, b),
    expected: (of, row, column) => of('a', row, column) * of('b', row, column),
  },
  'multiply of one operand with the same': {
    operands: { a: [ROWS, 2] },
    apply: (graph, { a }) => graph.t.multiply(a, a),
    expected: (of, row, column) => of('a', row, column) ** 2,
  },
  mix: {
    operands: { g: [ROWS, 2], a: [ROWS, 2], b: [ROWS, 2] },
    apply: (graph, { g, a, b }) => graph.mix(g, a, b),
    expected: (of, row, column) => {
      const g = of('g', row, column)
      return g * of('a', row, column) + (1 - g) * of('b', row, column)
    },
  },
  'masked by as many constants': {
    operands: { x: [2, 2] },
    apply: (graph, { x }) => graph.masked(x, x.shape, () => Float64Array.of(1, 0, 0.5, 2)),
    expected: (of, row, column) => of('x', row, column) * [1, 0, 0.5, 2][2 * row + column],
  },
  'masked by one row of constants': {
    operands: { x: [ROWS, 2] },
    apply: (graph, { x }) => graph.masked(x, [2], () => Float64Array.of(0, 3)),
    expected: (of, row, column) => of('x', row, column) * [0, 3][column],
  },
  'columns from the first': {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.t.columns(x, 0, 2),
    expected: (of, row, column) => of('x', row, column),
  },
  'columns in the middle': {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.t.columns(x, 1, 2),
    expected: (of, row, column) => of('x', row, 1 + column),
  },
  'columns of all': {
    operands: { x: [ROWS, 4] },
    apply: (graph, { x }) => graph.t.columns(x, 0, 4),
    expected: (of, row, column) => of('x', row, column),
  },
  'split of which one block is not read': {
    operands: { x: [ROWS, 6] },
    apply: (graph, { x }) => {
      const [first, , last] = graph.t.split(x, 3)
      return graph.t.multiply(first, last)
    },
    expected: (of, row, column) => of('x', row, column) * of('x', row, 4 + column),
  },
  concat: {
    operands: { a: [ROWS, 2], b: [ROWS, 3] },
    apply: (graph, { a, b }) => graph.t.concat([b, a, b]),
    expected: (of, row, column) =>
      column < 3 ? of('b', row, column) : column < 5 ? of('a', row, column - 3) : of('b', row, column - 5),
  },
  reshape: {
    operands: { x: [2, 6] },
    apply: (graph, { x }) => graph.t.reshape(x, [3, 2, 2]),
    expected: (of, row, column) => of('x', Math.floor((2 * row + column) / 6), (2 * row + column) % 6),
  },
  layerNorm: {
    operands: { x: [ROWS, 4] },
    variables: { gamma: [4], beta: [4] },
    apply: (graph, { x }) => graph.layerNorm(x, 'gamma', 'beta', 1e-3),
    expected: (of, row, column) => {
      const mean = sum(4, (k) => of('x', row, k)) / 4
      const variance = sum(4, (k) => (of('x', row, k) - mean) ** 2) / 4
      const normalized = (of('x', row, column) - mean) / Math.sqrt(variance + 1e-3)
      return normalized * of('gamma', 0, column) + of('beta', 0, column)
    },
  },
  // Two rows of three positions, and two taps: each position and the one before, with padding before the first.
  patches: {
    operands: { x: [6, 2] },
    apply: (graph, { x }) => graph.patches(x, 3, Int32Array.of(-1, 0, 0, 1, 1, 2)),
    expected: (of, row, column) => {
      const before = column < 2
      return before && row % 3 === 0 ? 0 : of('x', before ? row - 1 : row, column % 2)
    },
  },
  additiveAttention: {
    operands: { memory: [6, 3], keys: [6, 2], query: [2, 2] },
    variables: { v: [2] },
    apply: (graph, { memory, keys, query }) => graph.additiveAttention(memory, keys, query, 'v'),
    expected: (of, row, column) => {
      const weight = (slot: number) =>
        Math.exp(sum(2, (k) => of('v', 0, k) * Math.tanh(of('keys', 3 * row + slot, k) + of('query', row, k))))
      const weighted = sum(3, (slot) => weight(slot) * of('memory', 3 * row + slot, column))
      return weighted / sum(3, weight)
    },
  },
}

/**
 * The openness of a phased gate, whose gradient with respect to the period is TensorFlow's: `mod` passes none to it.
 */
export const TIME_GATE: GraphOperation = {
  operands: { time: [ROWS, 1] },
  variables: { period: [4], phase: [4], ratio: [4] },
  apply: (graph, { time }) => graph.timeGate(time, GATE, 0.25, true),
  expected: (of, row, column) => {
    const period = of('period', 0, column)
    const ratio = of('ratio', 0, column)
    const shifted = of('time', row, 0) - of('phase', 0, column)
    const phi = shifted / period - Math.floor(shifted / period)
    if (phi >= ratio) return 0.25 * phi
    return phi < ratio / 2 ? (2 * phi) / ratio : 2 - (2 * phi) / ratio
  },
}

/** Values that differ from element to element and from name to name, none within 0.01 of a bound or of 0. */
export function tensorsOf(shapes: Shapes, first: number): Map<string, FloatTensor> {
  let k = first
  return new Map(
    Object.entries(shapes).map(([name, shape]) => {
      const length = elementCount(shape)
      const isPositive = name === 'period' || name === 'ratio'
      const values = Array.from({ length }, () => {
        const value = Math.sin(1.7 * ++k)
        return isPositive ? 0.6 + 0.3 * value : value
      })
      return [name, float64(values, shape)]
    }),
  )
}

/** The elements of the result by the operation's definition. */
export function definition(
  { expected }: GraphOperation,
  tensors: ReadonlyMap<string, FloatTensor>,
  shape: readonly number[],
): number[] {
  const of = (name: string, row: number, column: number) => {
    const { data, shape: own } = tensors.get(name) as FloatTensor
    return data[row * own[own.length - 1] + column]
  }
  const columns = shape[shape.length - 1]
  const size = elementCount(shape)
  return Array.from({ length: size }, (_, k) => expected(of, Math.floor(k / columns), k % columns))
}

/** In TypeScript. */
export const KERNELS = { products: { addProduct }, lstm: undefined }
/** A zero for each element, by name. */
export const zerosLike = (tensors: ReadonlyMap<string, FloatTensor>) =>
  new Map([...tensors].map(([name, { data, shape }]) => [name, float64(new Float64Array(data.length), shape)]))

/** The step of a cell whose operands are its input and its state, on the tape of a program. */
export function appliedOnHost({ apply }: GraphOperation, operands: Tensors, variables: Tensors, training = true) {
  const run = new CellRun('float64', training, KERNELS)
  const [first, ...others] = operands.values()
  const program = new StepProgram(run, first as FloatTensor, others, variables, (graph, x, state) => {
    const values = [x, ...(state as readonly Value[])]
    return {
      output: apply(graph, Object.fromEntries([...operands.keys()].map((name, k) => [name, values[k]]))),
      state: [],
    }
  })
  const step = program.step(run, first as FloatTensor, others, variables)
  return { run, step, result: step.output }
}

/** Weights w of the result, and the gradients of Σ w∘result by the names of operands and variables. */
export function hostGradients(operation: GraphOperation, operands: Tensors, variables: Tensors) {
  const { run, step, result } = appliedOnHost(operation, operands, variables)
  const weights = float64(
    result.data.map((_, k) => Math.cos(0.8 * k)),
    result.shape,
  )
  const gradients = zerosLike(variables)
  const { input, state } = step.backward(weights, [], gradients)
  run.finishGradients()
  for (const [k, name] of [...operands.keys()].entries()) {
    gradients.set(name, [input, ...(state as readonly FloatTensor[])][k] as FloatTensor)
  }
  return { weights, gradients }
}
