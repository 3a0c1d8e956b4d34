import { checkedElsewhere, FLAG, type OptionsOf, optional, SIGNAL } from '@cudnn-rnn/canonical/rules'
import type { RnnOptions } from '@cudnn-rnn/canonical'

/** Option names of all four models, which are `tf.contrib.cudnn_rnn`'s. */
export const MODEL_OPTION_NAMES = [
  'numLayers',
  'numUnits',
  'inputSize',
  'inputMode',
  'direction',
  'dropout',
  'seed',
] as const satisfies readonly (keyof RnnOptions)[]

/** Option names of {@link CudnnLSTM}. */
export const LSTM_OPTION_NAMES = [
  ...MODEL_OPTION_NAMES,
  'numProj',
  'cellClip',
] as const satisfies readonly (keyof RnnOptions)[]

/** Options of every model, with the names of `tf.contrib.cudnn_rnn`. */
export interface ModelOptions extends Pick<RnnOptions, (typeof MODEL_OPTION_NAMES)[number]> {}

/** Options of {@link CudnnLSTM}. */
export interface LSTMOptions extends Pick<RnnOptions, (typeof LSTM_OPTION_NAMES)[number]> {}

/** Fields of a descriptor that are not options, so that `new CudnnLSTM(backend, network.descriptor)` works. */
export interface DescriptorOptions {
  /** The model's own, where it is named. */
  readonly cellMode?: RnnOptions['cellMode'] | undefined
  /** `double`, where it is named. */
  readonly biasMode?: RnnOptions['biasMode']
}

/** Rules of {@link CallOptions}. The executor checks the lengths, against the input's shape. */
export const CALL_OPTIONS = {
  isTraining: optional(FLAG),
  /** One length in 0..T per batch row, in any order; absent when every row has T steps. */
  sequenceLengths: checkedElsewhere<readonly number[] | Int32Array | null | undefined>(),
  /** Once it is aborted, the call rejects with its reason: before anything is queued, or with the results disposed. */
  signal: optional(SIGNAL),
}

/** Options of one call. */
export interface CallOptions<Training extends boolean = boolean> extends OptionsOf<typeof CALL_OPTIONS> {
  /** Default true, as in TensorFlow: dropout applies and a tape is returned. */
  readonly isTraining?: Training | undefined
}
