import { FINITE, oneOf, optional } from '@cudnn-rnn/canonical/rules'
import type { GradientTape, Operand, Value } from '@cudnn-rnn/ops/executor'
import { layer } from '../own_layer.js'

interface Numbers {
  /** Below the threshold, or of a line. */
  readonly slope?: number | undefined
  readonly threshold?: number | undefined
  readonly maximum?: number | undefined
  readonly minimum?: number | undefined
  readonly exponent?: number | undefined
  readonly offset?: number | undefined
  readonly epsilon?: number | undefined
}

/** slope·(eˣ − 1) below 0. */
const scaledElu = (t: GradientTape, x: Operand, slope: number) =>
  t.add(t.activate(x, 'relu'), t.multiply(t.activate(t.minimum(x, 0), 'elu'), slope))

/** P of erfc(z) = s·exp(P(s) − z²), s = 1/(1 + z/2), z ≥ 0, within 1.2e-7 of erfc (Press et al., Numerical Recipes, 6.2). */
const ERFC = [
  -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223,
  0.17087277,
]

function halfErfc(t: GradientTape, z: Value): Value {
  const s = t.divide(1, t.add(t.multiply(z, 0.5), 1))
  const sum = ERFC.reduceRight((inner: Value | number, each) => t.add(t.multiply(inner, s), each), 0)
  return t.multiply(t.multiply(s, t.exp(t.subtract(sum, t.square(z)))), 0.5)
}

/** x in 0..6. */
const clipped = (t: GradientTape, x: Operand) => t.minimum(t.activate(x, 'relu'), 6)

/** Functions of the vector of a step, most of them element by element, by Keras' names. */
const FUNCTIONS = {
  /** min(x, maximum) from the threshold on, slope·(x − threshold) below it. */
  relu: (t, x, { slope = 0, threshold = 0, maximum }) => {
    const above = maximum === undefined ? x : t.minimum(x, maximum)
    return t.select(t.less(x, threshold), t.multiply(t.subtract(x, threshold), slope), above)
  },
  elu: (t, x, { slope = 1 }) => scaledElu(t, x, slope),
  selu: (t, x) => t.multiply(scaledElu(t, x, 1.6732632423543772), 1.0507009873554805),
  silu: (t, x) => t.multiply(x, t.activate(x, 'sigmoid')),
  /** x·Φ(x) with the normal distribution Φ, to the precision of float32. */
  gelu: (t, x) => {
    const tail = halfErfc(t, t.multiply(t.abs(x), Math.SQRT1_2))
    return t.multiply(x, t.select(t.less(x, 0), tail, t.subtract(1, tail)))
  },
  mish: (t, x) => t.multiply(x, t.activate(t.activate(x, 'softplus'), 'tanh')),
  softsign: (t, x) => t.divide(x, t.add(t.abs(x), 1)),
  exponential: (t, x) => t.exp(x),
  hard_sigmoid: (t, x, { slope = 1 / 6 }) => t.multiply(clipped(t, t.add(t.multiply(x, 6 * slope), 3)), 1 / 6),
  hard_silu: (t, x) => t.multiply(t.multiply(x, clipped(t, t.add(x, 3))), 1 / 6),
  hard_tanh: (t, x) => t.maximum(t.minimum(x, 1), -1),
  log_sigmoid: (t, x) => t.negate(t.activate(t.negate(x), 'softplus')),
  /** ln softmax of the vector. */
  log_softmax: (t, x) => {
    const shifted = t.subtract(x, t.max(x, LAST))
    return t.subtract(shifted, t.log(t.sum(t.exp(shifted), LAST)))
  },
  squareplus: (t, x) => t.multiply(t.add(x, t.sqrt(t.add(t.square(x), 4))), 0.5),
  sparse_plus: (t, x) => {
    const curve = t.multiply(t.square(t.maximum(t.add(x, 1), 0)), 0.25)
    return t.select(t.less(x, 1), curve, x)
  },
  tanh_shrink: (t, x) => t.subtract(x, t.activate(x, 'tanh')),
  soft_shrink: (t, x) => t.subtract(x, t.maximum(t.minimum(x, 0.5), -0.5)),
  hard_shrink: (t, x) => t.multiply(x, t.greater(t.abs(x), 0.5)),
  log: (t, x) => t.log(x),
  sin: (t, x) => t.sin(x),
  cos: (t, x) => t.cos(x),
  /** −1, 0 or 1. */
  sign: (t, x) => t.subtract(t.greater(x, 0), t.less(x, 0)),
  power: (t, x, { exponent = 2 }) =>
    exponent === 2 ? t.square(x) : exponent === 0.5 ? t.sqrt(x) : t.power(x, exponent),
  clip: (t, x, { minimum, maximum }) => {
    const above = minimum === undefined ? x : t.maximum(x, minimum)
    return maximum === undefined ? above : t.minimum(above, maximum)
  },
  line: (t, x, { slope = 1, offset = 0 }) => t.add(t.multiply(x, slope), offset),
  /** The vector divided by its length, at least epsilon. */
  unit: (t, x, { epsilon = 1e-12 }) => t.divide(x, t.sqrt(t.maximum(t.sum(t.square(x), LAST), epsilon ** 2))),
  /** The vector divided by the root of its mean square. */
  rms: (t, x, { epsilon = 1e-7 }) => t.divide(x, t.sqrt(t.add(t.mean(t.square(x), LAST), epsilon))),
} satisfies Record<string, (t: GradientTape, x: Value, numbers: Numbers) => Value>

const LAST = { axes: [-1], keepDims: true }

export type StepFunction = keyof typeof FUNCTIONS

/** A function without weights of each step's vector, of those that Keras has and `activation` has not. */
export const stepFunction = layer(
  'stepFunction',
  {
    function: oneOf(Object.keys(FUNCTIONS) as StepFunction[]),
    slope: optional(FINITE),
    threshold: optional(FINITE),
    maximum: optional(FINITE),
    minimum: optional(FINITE),
    exponent: optional(FINITE),
    offset: optional(FINITE),
    epsilon: optional(FINITE),
  },
  ({ function: name, ...numbers }, input) => ({
    output: input,
    isStepwise: true,
    forward: (t, x) => FUNCTIONS[name](t, x, numbers),
  }),
)
