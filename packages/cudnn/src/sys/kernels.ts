import type { Kind } from './commands.js'

const REDUCTION = {
  ...{ y: 'out', x: 'in', count: 'size', length: 'size', rule: 'size' },
  ...{ n1: 'size', n2: 'size', n3: 'size', x0: 'size', x1: 'size', x2: 'size', x3: 'size' },
  ...{ m1: 'size', m2: 'size', m3: 'size', z0: 'size', z1: 'size', z2: 'size', z3: 'size' },
} as const satisfies Readonly<Record<string, Kind>>

/** The most tensors of one launch: the macro FOUR of dense.cu. */
export const TENSORS_OF_LAUNCH = 4

/** The fields of each of the four tensors of a launch: x0 to x3 for x. */
function four<const Fields extends Readonly<Record<string, 'in' | 'inout' | 'size'>>>(fields: Fields) {
  const all = Object.entries(fields).flatMap(([name, kind]) => [0, 1, 2, 3].map((k) => [`${name}${k}`, kind]))
  return Object.fromEntries(all) as {
    readonly [Name in keyof Fields & string as `${Name}${0 | 1 | 2 | 3}`]: Fields[Name]
  }
}

/**
 * The kernels of native/cudnn/kernels and their parameters; the place in this table is a kernel's number. A
 * kernel with scalars has one parameter more: if they are in memory.
 */
export const KERNELS = {
  // x = value
  fill: { x: 'out', count: 'size', value: 'scalar' },
  broadcast_rows: { rows: 'out', bias: 'in', count: 'size', columns: 'size' },
  // x += scale·y, unless the guard is not finite
  add_scaled: { x: 'inout', y: 'in', count: 'size', scale: 'scalar', guard: 'in?' },
  clip_by_value: { x: 'inout', count: 'size', limit: 'scalar' },
  // Conversions, rounding to nearest even.
  to_bfloat16: { y: 'out', x: 'in', count: 'size' },
  from_bfloat16: { y: 'out', x: 'in', count: 'size' },
  to_float16: { y: 'out', x: 'in', count: 'size' },
  from_float16: { y: 'out', x: 'in', count: 'size' },
  // y [T,B,columns] = x, zeros past each row's length
  mask_sequence: { y: 'out', x: 'in', lengths: 'in', count: 'size', batch: 'size', columns: 'size' },
  replace_empty_rows: {
    ...{ y: 'out', x: 'in', source: 'in?', lengths: 'in' },
    ...{ count: 'size', batch: 'size', columns: 'size' },
  },
  // y = x, zeros if |state| >= limit
  mask_clipped: { y: 'out', x: 'in', state: 'in', count: 'size', limit: 'scalar' },
  embedding: { rows: 'out', table: 'in', ids: 'in', count: 'size', columns: 'size', vocabulary: 'size' },
  // The three kernels of a stable radix sort: counts of a digit by block, their prefix sums, and the placement.
  digit_counts: { counts: 'out', ids: 'in', order: 'in?', count: 'size', vocabulary: 'size', place: 'size' },
  digit_offsets: { counts: 'inout', blocks: 'size' },
  sort_by_digit: {
    ...{ sorted: 'out', counts: 'in', ids: 'in', order: 'in?' },
    ...{ count: 'size', vocabulary: 'size', place: 'size' },
  },
  embedding_gradient: {
    ...{ table: 'out', ids: 'in', order: 'in?', rows: 'in' },
    ...{ count: 'size', columns: 'size', vocabulary: 'size' },
  },
  // Partial sums by block; the block that ends last adds them.
  global_norm: {
    ...four({ x: 'in', count: 'size' }),
    ...{ norm: 'out', partial: 'inout', first: 'size', total: 'size' },
  },
  clip_by_norm: { ...four({ x: 'inout', count: 'size' }), norm: 'in', limit: 'scalar' },
  both_finite: { guard: 'out', a: 'in', b: 'in' },
  sum: { total: 'out', x: 'in', count: 'size' },
  // sums [columns] of x [rows,columns]
  column_sums: { sums: 'out', x: 'in', rows: 'size', columns: 'size' },
  softmax_cross_entropy: {
    ...{ gradient: 'out', loss: 'out', rowLosses: 'out', logits: 'in', labels: 'in', weights: 'in?', total: 'in?' },
    ...{ rows: 'size', classes: 'size' },
  },
  // Optimizer rules; the equations are at each kernel in native/cudnn/kernels/dense.cu.
  apply_momentum: {
    ...{ x: 'inout', v: 'inout', g: 'in', count: 'size' },
    ...{ momentum: 'scalar', rateIn: 'scalar', rateOut: 'scalar', nesterov: 'size', guard: 'in?' },
  },
  apply_adam: {
    ...four({ x: 'inout', m: 'inout', v: 'inout', g: 'in', count: 'size' }),
    ...{ steps: 'in?' },
    ...{ rate: 'scalar', beta1: 'scalar', rest1: 'scalar', beta2: 'scalar', rest2: 'scalar' },
    ...{ step: 'scalar', epsilon: 'scalar', epsilonHat: 'size', guard: 'in?' },
  },
  apply_rms_prop: {
    ...{ x: 'inout', s: 'inout', v: 'inout', g: 'in', count: 'size' },
    ...{ decay: 'scalar', rest: 'scalar', momentum: 'scalar', rateIn: 'scalar', rateOut: 'scalar' },
    ...{ epsilon: 'scalar', epsilonInRoot: 'size', guard: 'in?' },
  },
  apply_adagrad: {
    ...{ x: 'inout', s: 'inout', g: 'in', count: 'size' },
    ...{ rate: 'scalar', epsilon: 'scalar', epsilonInRoot: 'size', guard: 'in?' },
  },
  apply_weight_decay: { x: 'inout', mask: 'in?', count: 'size', rate: 'scalar', guard: 'in?' },
  // Layers; the equations are at each kernel in native/cudnn/kernels/layers.cu.
  activate: { y: 'out', x: 'in', count: 'size', activation: 'size' },
  activation_gradient: { dx: 'out', y: 'in', dy: 'in', count: 'size', activation: 'size' },
  bounded_relu: { y: 'out', x: 'in', count: 'size', maximum: 'scalar' },
  bounded_relu_gradient: { dx: 'out', y: 'in', dy: 'in', count: 'size', maximum: 'scalar' },
  softmax_rows: { y: 'out', x: 'in', columns: 'size' },
  softmax_rows_gradient: { dx: 'out', y: 'in', dy: 'in', columns: 'size' },
  dropout: {
    ...{ y: 'out', x: 'in', count: 'size', seedLow: 'size', seedHigh: 'size', threshold: 'size' },
    ...{ kept: 'scalar', drawLow: 'scalar', drawHigh: 'scalar' },
  },
  random_numbers: {
    ...{ y: 'out', count: 'size', isNormal: 'size', seedLow: 'size', seedHigh: 'size' },
    ...{ drawLow: 'scalar', drawHigh: 'scalar' },
  },
  layer_norm: { y: 'out', x: 'in', gamma: 'in', beta: 'in', columns: 'size', epsilon: 'scalar' },
  layer_norm_gradient: {
    ...{ dx: 'out', dgammaRows: 'out', x: 'in', gamma: 'in', dy: 'in', columns: 'size', epsilon: 'scalar' },
  },
  reverse_sequence: {
    ...{ y: 'out', x: 'in', lengths: 'in?', count: 'size', time: 'size', batch: 'size', columns: 'size' },
    reverses: 'size',
  },
  pool_sequence: {
    ...{ y: 'out', x: 'in', lengths: 'in?' },
    ...{ count: 'size', time: 'size', columns: 'size', pooling: 'size', reversedFrom: 'size' },
  },
  pool_sequence_gradient: {
    ...{ dx: 'out', x: 'in', lengths: 'in?', dy: 'in' },
    ...{ count: 'size', time: 'size', columns: 'size', pooling: 'size', reversedFrom: 'size' },
  },
  attention_weights: { weights: 'out', scores: 'in', lengths: 'in?', time: 'size', batch: 'size' },
  attend: {
    ...{ output: 'out', x: 'in', weights: 'in', lengths: 'in?' },
    ...{ count: 'size', time: 'size', batch: 'size', columns: 'size' },
  },
  attention_input_gradient: { dx: 'out', weights: 'in', dy: 'in', count: 'size', batch: 'size', columns: 'size' },
  attention_weight_gradient: {
    ...{ dweights: 'out', x: 'in', weights: 'in', dy: 'in' },
    ...{ batch: 'size', columns: 'size' },
  },
  attention_score_gradient: { dscores: 'out', weights: 'in', dweights: 'in', time: 'size', batch: 'size' },
  phased_gate: {
    ...{ open: 'out', times: 'in', period: 'in', phase: 'in', ratioOn: 'in' },
    ...{ count: 'size', units: 'size', leak: 'scalar' },
  },
  phased_gate_gradients: {
    ...{ dperiod: 'out', dphase: 'out', dratioOn: 'out' },
    ...{ times: 'in', period: 'in', phase: 'in', ratioOn: 'in', dopen: 'in' },
    ...{ batch: 'size', units: 'size', leak: 'scalar' },
  },
  phased_gate_time_gradient: {
    ...{ dtimes: 'out', times: 'in', period: 'in', phase: 'in', ratioOn: 'in', dopen: 'in' },
    ...{ batch: 'size', units: 'size', leak: 'scalar' },
  },
  element_loss: {
    ...{ gradient: 'out', loss: 'out', rowLosses: 'out', predictions: 'in', targets: 'in' },
    ...{ weights: 'in?', total: 'in?' },
    ...{ rows: 'size', columns: 'size', rule: 'size' },
  },
  // Tensors of any shape: the numbers of walks, which native/cudnn/kernels/tensors.cu explains.
  elements: {
    ...{ y: 'inout', a: 'in', b: 'in?', c: 'in?', count: 'size', rule: 'size', n1: 'size', n2: 'size', n3: 'size' },
    ...{ yBegin: 'size', y0: 'size', y1: 'size', y2: 'size', y3: 'size' },
    ...{ aBegin: 'size', a0: 'size', a1: 'size', a2: 'size', a3: 'size' },
    ...{ b0: 'size', b1: 'size', b2: 'size', b3: 'size', c0: 'size', c1: 'size', c2: 'size', c3: 'size' },
  },
  reduce_each: REDUCTION,
  reduce_by_blocks: REDUCTION,
  one_hot: { y: 'out', ids: 'in', count: 'size', classes: 'size' },
  // Before and after cuDNN's CTC loss.
  ctc_marks: { marks: 'out', x: 'in', lengths: 'in', batch: 'size', classes: 'size' },
  ctc_activations: {
    ...{ y: 'out', x: 'in', lengths: 'in', marks: 'in', count: 'size' },
    ...{ batch: 'size', classes: 'size', blank: 'size' },
  },
  ctc_gradient: {
    ...{ gradient: 'out', rows: 'in', x: 'in', costs: 'in', marks: 'in', weights: 'in', lengths: 'in' },
    ...{ count: 'size', batch: 'size', classes: 'size', blank: 'size', infeasible: 'size' },
  },
  ctc_row_losses: {
    ...{ loss: 'out', rowLosses: 'out', costs: 'in', marks: 'in', weights: 'in' },
    ...{ count: 'size', infeasible: 'size' },
  },
  // Streams: states of the listed rows side by side, and back.
  gather_states: {
    ...{ y: 'out', x: 'in', rows: 'in', count: 'size' },
    ...{ picked: 'size', batch: 'size', columns: 'size' },
  },
  scatter_states: {
    ...{ y: 'inout', x: 'in?', rows: 'in', count: 'size' },
    ...{ picked: 'size', batch: 'size', columns: 'size' },
  },
} as const satisfies Readonly<
  Record<string, Readonly<Record<string, 'in' | 'in?' | 'out' | 'inout' | 'size' | 'scalar'>>>
>

/**
 * The kernels of native/cudnn/kernels/persistent.cu and their parameters, before the last, the flag of the watch; the place
 * in this table is a kernel's number.
 */
export const PERSISTENT_KERNELS = {
  persistent_forward: {
    ...{ y: 'out', hy: 'out', cy: 'out?', saved: 'out?', products: 'in', weights: 'in', hx: 'in?', cx: 'in?' },
    ...{ lengths: 'in?', time: 'size', batch: 'size', place: 'size', pseudoLayer: 'size' },
    ...{ recurrent: 'size', bias: 'size', recurrentBias: 'size', patience: 'size' },
  },
  persistent_backward: {
    ...{ dgates: 'out', dnew: 'out?', dbias: 'out', dhx: 'out', dcx: 'out?' },
    ...{ dy: 'in', dhy: 'in?', dcy: 'in?', weights: 'in', saved: 'in', y: 'in', hx: 'in?', cx: 'in?' },
    ...{ lengths: 'in?', time: 'size', batch: 'size', place: 'size', pseudoLayer: 'size' },
    ...{ recurrent: 'size', patience: 'size' },
  },
  persistent_bias: { dw: 'inout', dbias: 'in', groups: 'size', bias: 'size', recurrentBias: 'size' },
} as const satisfies Readonly<
  Record<string, Readonly<Record<string, 'in' | 'in?' | 'out' | 'out?' | 'inout' | 'size'>>>
>

export type KernelName = keyof typeof KERNELS
export type PersistentKernelName = keyof typeof PERSISTENT_KERNELS
