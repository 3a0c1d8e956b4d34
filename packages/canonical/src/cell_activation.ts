/**
 * Functions of every element that cells can have in their gates and their candidate, by their names in Keras and ONNX
 * in snake case, with the defaults of their parameters α and β. `hard_sigmoid` has Keras 2's and ONNX's,
 * 0.2·x + 0.5 within 0..1; α of Keras 3 is 1/6.
 */
export const CELL_ACTIVATIONS = Object.freeze({
  tanh: [],
  sigmoid: [],
  relu: [],
  linear: [],
  /** α·x + β */
  affine: [1, 0],
  elu: [1],
  exponential: [],
  /** x·Φ(x), Φ of the normal distribution */
  gelu: [],
  hard_sigmoid: [0.2, 0.5],
  /** x·min(max(x + 3, 0), 6)/6 */
  hard_silu: [],
  /** x where |x| > 0.5, 0 elsewhere */
  hard_shrink: [],
  hard_tanh: [],
  leaky_relu: [0.01],
  log_sigmoid: [],
  /** x·tanh(softplus(x)) */
  mish: [],
  relu6: [],
  /** α·tanh(β·x) */
  scaled_tanh: [1, 1],
  selu: [],
  /** x·σ(x), also called swish */
  silu: [],
  /** x less 0.5, or plus 0.5 below 0; 0 within these */
  soft_shrink: [],
  softplus: [],
  softsign: [],
  /** 0 below -1, (x + 1)²/4 up to 1, then x */
  sparse_plus: [],
  /** (x + √(x² + 4))/2 */
  squareplus: [],
  /** x - tanh(x) */
  tanh_shrink: [],
  /** x above α, 0 elsewhere */
  thresholded_relu: [1],
} as const satisfies Readonly<Record<string, readonly number[]>>)

export type CellActivationName = keyof typeof CELL_ACTIVATIONS

/** A function of {@link CELL_ACTIVATIONS}, with parameters other than its defaults if it has any. */
export type CellActivation =
  | CellActivationName
  | { readonly name: CellActivationName; readonly alpha?: number; readonly beta?: number }
