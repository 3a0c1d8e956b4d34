import type { Tensor } from '@cudnn-rnn/canonical'
import type { SequenceLengths } from '../layer.js'

/** A batch of any model. */
export type AnyBatch = LayerBatch | NamedBatch

/** A batch of a model of several inputs or outputs, each field by their names. */
export interface NamedBatch {
  readonly input: Readonly<Record<string, Tensor>>
  readonly labels: Readonly<Record<string, LayerBatch['labels']>>
  /** By the names of outputs, for `ctc`. */
  readonly labelLengths?: Readonly<Record<string, LayerBatch['labelLengths']>> | undefined
  /** One list for all sequences, or lists by the names of inputs. */
  readonly sequenceLengths?: SequenceLengths | undefined
  /** By the names of outputs. Default: as for one output. */
  readonly weights?: Readonly<Record<string, Tensor>> | undefined
  readonly restarts?: boolean | undefined
}

/** A batch as the model takes it. */
export interface LayerBatch {
  /** [T,B,I], [B,I], or class ids [T,B], [B]. */
  readonly input: Tensor
  /**
   * Class ids (int32) or numbers in the shape of the output; class ids lack its last dimension. For `ctc` a label sequence
   * for each row, or an int32 tensor [B,S] of them.
   */
  readonly labels: Tensor | readonly (readonly number[] | Int32Array)[]
  /** [B], for `ctc`: labels of each row of a tensor. Default: S. */
  readonly labelLengths?: readonly number[] | Int32Array | undefined
  /** [B] */
  readonly sequenceLengths?: readonly number[] | Int32Array | null | undefined
  /** Weights of the rows of the output, [B] or [T,B]. Default: 1 within a row's length, 0 past it. Not for `ctc`. */
  readonly weights?: Tensor | undefined
  /**
   * False: row b begins with the recurrent states at the end of row b of the previous batch, for windows of one long text;
   * gradients stop at the batch. True: the states are zeros, as for all batches without `restarts`.
   */
  readonly restarts?: boolean | undefined
}
