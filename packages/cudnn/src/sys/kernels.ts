import { fields, type Kind } from './commands.js'

/** The kinds of the parameters of kernels. */
type Parameter = Extract<Kind, 'in' | 'in?' | 'out' | 'out?' | 'inout' | 'size' | 'scalar'>

const REDUCTION = fields('out y, in x, size count length rule n1 n2 n3 x0 x1 x2 x3 m1 m2 m3 z0 z1 z2 z3')

/** The most tensors of one launch: the macro FOUR of dense.cu. */
export const TENSORS_OF_LAUNCH = 4

/** The fields of each of the four tensors of a launch: x0 to x3 for x. */
function four<const Text extends string>(text: Text) {
  const own: Readonly<Record<string, string>> = fields(text)
  const all = Object.entries(own).flatMap(([name, kind]) => [0, 1, 2, 3].map((k) => [`${name}${k}`, kind]))
  type Own = ReturnType<typeof fields<Text>>
  return Object.fromEntries(all) as { readonly [Name in keyof Own & string as `${Name}${0 | 1 | 2 | 3}`]: Own[Name] }
}

/**
 * The kernels of native/cudnn/kernels and their parameters; the place in this table is a kernel's number. A
 * kernel with scalars has one parameter more: if they are in memory.
 */
export const KERNELS = {
  // x = value
  fill: fields('out x, size count, scalar value'),
  broadcast_rows: fields('out rows, in bias, size count columns'),
  // x += scale·y, unless the guard is not finite
  add_scaled: fields('inout x, in y, size count, scalar scale, in? guard'),
  clip_by_value: fields('inout x, size count, scalar limit'),
  // Conversions, rounding to nearest even.
  to_bfloat16: fields('out y, in x, size count'),
  from_bfloat16: fields('out y, in x, size count'),
  to_float16: fields('out y, in x, size count'),
  from_float16: fields('out y, in x, size count'),
  // y [T,B,columns] = x, zeros past each row's length
  mask_sequence: fields('out y, in x lengths, size count batch columns'),
  replace_empty_rows: fields('out y, in x, in? source, in lengths, size count batch columns'),
  // y = x, zeros if |state| >= limit
  mask_clipped: fields('out y, in x state, size count, scalar limit'),
  embedding: fields('out rows, in table ids, size count columns vocabulary'),
  // The three kernels of a stable radix sort: counts of a digit by block, their prefix sums, and the placement.
  digit_counts: fields('out counts, in ids, in? order, size count vocabulary place'),
  digit_offsets: fields('inout counts, size blocks'),
  sort_by_digit: fields('out sorted, in counts ids, in? order, size count vocabulary place'),
  embedding_gradient: fields('out table, in ids, in? order, in rows, size count columns vocabulary'),
  // Partial sums by block; the block that ends last adds them.
  global_norm: { ...four('in x, size count'), ...fields('out norm, inout partial, size first total') },
  clip_by_norm: { ...four('inout x, size count'), ...fields('in norm, scalar limit') },
  both_finite: fields('out guard, in a b'),
  sum: fields('out total, in x, size count'),
  // sums [columns] of x [rows,columns]
  column_sums: fields('out sums, in x, size rows columns'),
  softmax_cross_entropy: fields('out gradient loss rowLosses, in logits labels, in? weights total, size rows classes'),
  // Optimizer rules; the equations are at each kernel in native/cudnn/kernels/dense.cu.
  apply_momentum: fields('inout x v, in g, size count, scalar momentum rateIn rateOut, size nesterov, in? guard'),
  apply_adam: {
    ...four('inout x m v, in g, size count'),
    ...fields('in? steps, scalar rate beta1 rest1 beta2 rest2 step epsilon, size epsilonHat, in? guard'),
  },
  apply_rms_prop: fields(
    'inout x s v, in g, size count, scalar decay rest momentum rateIn rateOut epsilon, size epsilonInRoot',
    'in? guard',
  ),
  apply_adagrad: fields('inout x s, in g, size count, scalar rate epsilon, size epsilonInRoot, in? guard'),
  apply_weight_decay: fields('inout x, in? mask, size count, scalar rate, in? guard'),
  // Layers; the equations are at each kernel in native/cudnn/kernels/layers.cu.
  activate: fields('out y, in x, size count activation'),
  activation_gradient: fields('out dx, in y dy, size count activation'),
  bounded_relu: fields('out y, in x, size count, scalar maximum'),
  bounded_relu_gradient: fields('out dx, in y dy, size count, scalar maximum'),
  softmax_rows: fields('out y, in x, size columns'),
  softmax_rows_gradient: fields('out dx, in y dy, size columns'),
  dropout: fields('out y, in x, size count seedLow seedHigh threshold, scalar kept drawLow drawHigh'),
  random_numbers: fields('out y, size count isNormal seedLow seedHigh, scalar drawLow drawHigh'),
  layer_norm: fields('out y, in x gamma beta, size columns, scalar epsilon'),
  layer_norm_gradient: fields('out dx dgammaRows, in x gamma dy, size columns, scalar epsilon'),
  reverse_sequence: fields('out y, in x, in? lengths, size count time batch columns reverses'),
  pool_sequence: fields('out y, in x, in? lengths, size count time columns pooling reversedFrom'),
  pool_sequence_gradient: fields('out dx, in x, in? lengths, in dy, size count time columns pooling reversedFrom'),
  attention_weights: fields('out weights, in scores, in? lengths, size time batch'),
  attend: fields('out output, in x weights, in? lengths, size count time batch columns'),
  attention_input_gradient: fields('out dx, in weights dy, size count batch columns'),
  attention_weight_gradient: fields('out dweights, in x weights dy, size batch columns'),
  attention_score_gradient: fields('out dscores, in weights dweights, size time batch'),
  phased_gate: fields('out open, in times period phase ratioOn, size count units, scalar leak'),
  phased_gate_gradients: fields(
    'out dperiod dphase dratioOn, in times period phase ratioOn dopen, size batch units, scalar leak',
  ),
  phased_gate_time_gradient: fields('out dtimes, in times period phase ratioOn dopen, size batch units, scalar leak'),
  element_loss: fields(
    'out gradient loss rowLosses, in predictions targets, in? weights total, size rows columns rule',
  ),
  // Tensors of any shape: the numbers of walks, which native/cudnn/kernels/tensors.cu explains.
  elements: fields(
    'inout y, in a, in? b c',
    'size count rule n1 n2 n3 yBegin y0 y1 y2 y3 aBegin a0 a1 a2 a3 b0 b1 b2 b3 c0 c1 c2 c3',
  ),
  reduce_each: REDUCTION,
  reduce_by_blocks: REDUCTION,
  one_hot: fields('out y, in ids, size count classes'),
  // Before and after cuDNN's CTC loss.
  ctc_marks: fields('out marks, in x lengths, size batch classes'),
  ctc_activations: fields('out y, in x lengths marks, size count batch classes blank'),
  ctc_gradient: fields(
    'out gradient, in rows x costs marks weights lengths, size count batch classes blank infeasible',
  ),
  ctc_row_losses: fields('out loss rowLosses, in costs marks weights, size count infeasible'),
  // Streams: states of the listed rows side by side, and back.
  gather_states: fields('out y, in x rows, size count picked batch columns'),
  scatter_states: fields('inout y, in? x, in rows, size count picked batch columns'),
} satisfies Readonly<Record<string, Readonly<Record<string, Parameter>>>>

/**
 * The kernels of native/cudnn/kernels/persistent.cu and their parameters, before the last, the flag of the watch; the place
 * in this table is a kernel's number.
 */
export const PERSISTENT_KERNELS = {
  persistent_forward: fields(
    'out y hy, out? cy saved, in products weights, in? hx cx lengths',
    'size time batch place pseudoLayer recurrent bias recurrentBias patience',
  ),
  persistent_backward: fields(
    'out dgates, out? dnew, out dbias dhx, out? dcx, in dy, in? dhy dcy, in weights saved y',
    'in? hx cx lengths, size time batch place pseudoLayer recurrent patience',
  ),
  persistent_bias: fields('inout dw, in dbias, size groups bias recurrentBias'),
} satisfies Readonly<Record<string, Readonly<Record<string, Parameter>>>>

export type KernelName = keyof typeof KERNELS
export type PersistentKernelName = keyof typeof PERSISTENT_KERNELS
