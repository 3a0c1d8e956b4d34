import { CELL_ACTIVATIONS, type CellActivation, type CellActivationName } from '@cudnn-rnn/canonical'
import { sigmoid } from './sigmoid.js'

/** A function of one element, and its slope at x, where it is y. NaN stays NaN. */
export interface ElementwiseFunction {
  value(x: number): number
  slope(y: number, x?: number): number
  /** True if the slope does not follow from y alone. */
  readonly readsArgument?: boolean
}

/** The function of an activation that was checked. */
export function elementwiseFunction(activation: CellActivation): ElementwiseFunction {
  const { name, alpha, beta } = typeof activation === 'string' ? { name: activation } : activation
  const [defaultAlpha = 0, defaultBeta = 0]: readonly number[] = CELL_ACTIVATIONS[name]
  return FUNCTIONS[name](alpha ?? defaultAlpha, beta ?? defaultBeta)
}

const SELU_SCALE = 1.0507009873554805
const SELU_ALPHA = 1.6732632423543772

function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))
}

const TAIL_SERIES = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807].concat([
  -1.13520398, 1.48851587, -0.82215223, 0.17087277,
])

/** Φ of the normal distribution, within 1.2e-7 of its value. Source: erfcc of Press et al., "Numerical Recipes", 6.2. */
function normalShare(x: number): number {
  const z = Math.abs(x) / Math.SQRT2
  const t = 1 / (1 + z / 2)
  const series = TAIL_SERIES.reduceRight((sum, term) => sum * t + term)
  const tail = (t * Math.exp(series - z * z)) / 2
  return x < 0 ? tail : 1 - tail
}

// A slope that takes y for x reads its sign alone, which is the same unless α turns it around.
const FUNCTIONS: Readonly<Record<CellActivationName, (alpha: number, beta: number) => ElementwiseFunction>> = {
  tanh: () => ({ value: Math.tanh, slope: (y) => 1 - y * y }),
  sigmoid: () => ({ value: sigmoid, slope: (y) => y * (1 - y) }),
  relu: () => ({ value: (x) => (x < 0 ? 0 : x), slope: (y) => (y > 0 ? 1 : 0) }),
  linear: () => ({ value: (x) => x, slope: () => 1 }),
  affine: (alpha, beta) => ({ value: (x) => alpha * x + beta, slope: () => alpha }),
  elu: (alpha) => ({
    value: (x) => (x < 0 ? alpha * Math.expm1(x) : x),
    slope: (y, x = y) => (x < 0 ? y + alpha : 1),
    readsArgument: alpha <= 0,
  }),
  exponential: () => ({ value: Math.exp, slope: (y) => y }),
  gelu: () => ({
    value: (x) => x * normalShare(x),
    slope: (_, x = Number.NaN) => normalShare(x) + (x * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI),
    readsArgument: true,
  }),
  hard_sigmoid: (alpha, beta) => ({
    value: (x) => Math.min(1, Math.max(0, alpha * x + beta)),
    slope: (y) => (y > 0 && y < 1 ? alpha : 0),
  }),
  hard_silu: () => ({
    value: (x) => (x < -3 ? 0 : x > 3 ? x : (x * (x + 3)) / 6),
    slope: (_, x = Number.NaN) => (x < -3 ? 0 : x > 3 ? 1 : (2 * x + 3) / 6),
    readsArgument: true,
  }),
  hard_shrink: () => ({ value: (x) => (Math.abs(x) <= 0.5 ? 0 : x), slope: (y) => (y === 0 ? 0 : 1) }),
  hard_tanh: () => ({ value: (x) => Math.min(1, Math.max(-1, x)), slope: (y) => (Math.abs(y) < 1 ? 1 : 0) }),
  leaky_relu: (alpha) => ({
    value: (x) => (x < 0 ? alpha * x : x),
    slope: (y, x = y) => (x < 0 ? alpha : 1),
    readsArgument: alpha <= 0,
  }),
  log_sigmoid: () => ({ value: (x) => -softplus(-x), slope: (y) => -Math.expm1(y) }),
  mish: () => ({
    value: (x) => x * Math.tanh(softplus(x)),
    slope(_, x = Number.NaN) {
      const t = Math.tanh(softplus(x))
      return t + x * (1 - t * t) * sigmoid(x)
    },
    readsArgument: true,
  }),
  relu6: () => ({ value: (x) => (x < 0 ? 0 : x > 6 ? 6 : x), slope: (y) => (y > 0 && y < 6 ? 1 : 0) }),
  scaled_tanh: (alpha, beta) => ({
    value: (x) => alpha * Math.tanh(beta * x),
    slope: (y) => (alpha === 0 ? 0 : beta * (alpha - (y * y) / alpha)),
  }),
  selu: () => ({
    value: (x) => SELU_SCALE * (x < 0 ? SELU_ALPHA * Math.expm1(x) : x),
    slope: (y) => (y < 0 ? y + SELU_SCALE * SELU_ALPHA : SELU_SCALE),
  }),
  silu: () => ({
    value: (x) => x * sigmoid(x),
    slope(_, x = Number.NaN) {
      const share = sigmoid(x)
      return share * (1 + x * (1 - share))
    },
    readsArgument: true,
  }),
  soft_shrink: () => ({ value: (x) => x - Math.min(0.5, Math.max(-0.5, x)), slope: (y) => (y === 0 ? 0 : 1) }),
  softplus: () => ({ value: softplus, slope: (y) => -Math.expm1(-y) }),
  softsign: () => ({ value: (x) => x / (1 + Math.abs(x)), slope: (y) => (1 - Math.abs(y)) ** 2 }),
  sparse_plus: () => ({
    value: (x) => (x <= -1 ? 0 : x < 1 ? (x + 1) ** 2 / 4 : x),
    slope: (y) => (y < 1 ? Math.sqrt(y) : 1),
  }),
  squareplus: () => ({ value: (x) => (x + Math.sqrt(x * x + 4)) / 2, slope: (y) => (y * y) / (y * y + 1) }),
  tanh_shrink: () => ({
    value: (x) => x - Math.tanh(x),
    slope: (_, x = Number.NaN) => Math.tanh(x) ** 2,
    readsArgument: true,
  }),
  thresholded_relu: (alpha) => ({
    value: (x) => (x <= alpha ? 0 : x),
    slope: (y, x = y) => (x !== 0 && !(x <= alpha) ? 1 : 0),
  }),
}
