/**
 * The kernels of native/cudnn/kernels and their parameters in order, one letter each: `i` a buffer read, `I` one
 * read that may be null, `o` one overwritten, `u` one updated in place, `n` a count, `s` a scalar of the element type,
 * `v` where the scalars are in memory, null where they are the parameters.
 */
export const KERNELS = Object.freeze({
  fill: 'onsv',
  broadcast_rows: 'oinn',
  add_scaled: 'uinsIv',
  clip_by_value: 'unsv',
  to_bfloat16: 'oin',
  from_bfloat16: 'oin',
  to_float16: 'oin',
  from_float16: 'oin',
  mask_sequence: 'oiinnn',
  replace_empty_rows: 'oiIinnn',
  embedding: 'oiinnn',
  digit_counts: 'oiInnn',
  digit_offsets: 'un',
  sort_by_digit: 'oiiInnn',
  embedding_gradient: 'oiiinnn',
  sum_of_squares: 'oinn',
  norm_of_partials: 'oin',
  clip_by_norm: 'uinsv',
  both_finite: 'oii',
  sum: 'oin',
  softmax_cross_entropy: 'ooiiIInn',
  sum_losses: 'oin',
  apply_momentum: 'uuinsssnIv',
  apply_adam: 'uuuinssssssssIv',
  apply_rms_prop: 'uuuinssssssnIv',
  apply_adagrad: 'uuinssnIv',
  apply_weight_decay: 'uInsIv',
  activate: 'oinn',
  activation_gradient: 'oiinn',
  softmax_rows: 'oin',
  softmax_rows_gradient: 'oiin',
  dropout: 'oinnnnsssv',
  layer_norm: 'oiiinsv',
  layer_norm_gradient: 'ooiiinsv',
  copy_columns: 'uinnnnnn',
  reverse_sequence: 'oiInnnn',
  pool_sequence: 'oiInnnnn',
  pool_sequence_gradient: 'oiIinnnnn',
  attention_weights: 'oiInn',
  attend: 'oiiInnnn',
  attention_input_gradient: 'oiinnn',
  attention_weight_gradient: 'oiinn',
  attention_score_gradient: 'oiinn',
  element_loss: 'ooiiIInnn',
} as const)

export type KernelName = keyof typeof KERNELS

/** Threads of a block; the kernels that reduce are compiled for it. */
export const BLOCK = 256
