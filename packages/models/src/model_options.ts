import { checkedElsewhere, FLAG, fields, optional } from '@cudnn-rnn/arguments'
import type { AbortSignalLike, BiasMode, CellMode, Direction, InputMode } from '@cudnn-rnn/canonical'

/** Options of every model, with the names of `tf.contrib.cudnn_rnn`. */
export interface ModelOptions {
  /** L, layers stacked. */
  readonly numLayers: number
  /** H, units of one layer in one direction. */
  readonly numUnits: number
  /** I, size of one input vector. */
  readonly inputSize: number
  /**
   * Default `auto_select`: skip_input when I = H, else linear_input. A network of skip_input has no input matrices, and no
   * other framework has such a network: request `linear_input` to export it.
   */
  readonly inputMode?: InputMode | undefined
  /** Default `unidirectional`. */
  readonly direction?: Direction | undefined
  /** Drop probability 0..1 between layers, in training only. Default 0. */
  readonly dropout?: number | undefined
  /** Seed of the dropout masks. Default 0. */
  readonly seed?: number | undefined
}

/** Options of {@link CudnnLSTM}. */
export interface LSTMOptions extends ModelOptions {
  /** P, recurrent projection: h and output then have P columns. Default none. */
  readonly numProj?: number | undefined
  /** The cell state is clipped to ±cellClip. Default none. */
  readonly cellClip?: number | undefined
}

/** Fields of a descriptor that are not options, so that `new CudnnLSTM(backend, network.descriptor)` works. */
export interface DescriptorOptions {
  /** The model's own, where it is named. */
  readonly cellMode?: CellMode | undefined
  /** `double`, where it is named. */
  readonly biasMode?: BiasMode | undefined
}

/** Options of one call. */
export interface CallOptions<Training extends boolean = boolean> {
  /** Default true, as in TensorFlow: dropout applies and a tape is returned. */
  readonly isTraining?: Training | undefined
  /** One length in 0..T per batch row, in any order; absent when every row has T steps. */
  readonly sequenceLengths?: readonly number[] | Int32Array | null | undefined
  /** Once it is aborted, the call rejects with its reason: before anything is queued, or with the results disposed. */
  readonly signal?: AbortSignalLike | undefined
}

/** Rules of {@link CallOptions}. The executor checks the lengths, against the input's shape. */
export const CALL_OPTIONS = {
  isTraining: optional(FLAG),
  sequenceLengths: checkedElsewhere<CallOptions['sequenceLengths']>(),
  signal: optional(fields({}, 'an AbortSignal')),
}
