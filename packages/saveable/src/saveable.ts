import type { Tensor } from '@cudnn-rnn/canonical'
import type { CheckpointDType } from '@cudnn-rnn/checkpoint'

/** The variable names of a release of TensorFlow, or this package's own. */
export type Naming = (typeof NAMINGS)[number]

export const NAMINGS = ['default', 'tf-1.2', 'tf-1.3'] as const

/** A host tensor under its key in a checkpoint. */
export type KeyedTensors = ReadonlyMap<string, Tensor | NumericTensor>

export type KeyedTensor = readonly [key: string, tensor: Tensor | NumericTensor]

/** A host tensor of any numeric type, as plain named tensors may be. */
export interface NumericTensor {
  readonly data: Tensor['data'] | BigInt64Array | Uint8Array
  readonly shape: readonly number[]
}

/** The required tensor under a key of a checkpoint. */
export interface ExpectedTensor {
  readonly shape: readonly number[]
  readonly dtype: CheckpointDType
  /** Old releases label weights 1-D or transposed: then only the number of elements counts. */
  readonly anyShape?: boolean
}

/** Something a {@link Saver} saves and restores. */
export interface Saveable {
  readonly name: string
  /** Tensors to write. Throws RangeError `ERR_NAMING` if the naming has no place for them. */
  tensors(naming: Naming): Promise<KeyedTensors>
  /**
   * The tensors of {@link tensors} one at a time, ascending by key, so that a save holds one of them. A {@link Saver} takes
   * them from here if the method exists. The values must not change meanwhile.
   */
  stream?(naming: Naming): AsyncIterable<KeyedTensor>
  /** The keys that {@link prepare} needs. */
  expected(naming: Naming): Promise<ReadonlyMap<string, ExpectedTensor>>
  /** Whether a key that is not expected looks like one of this saveable, of another structure. */
  owns(key: string, naming: Naming): boolean
  /** Makes everything ready and changes nothing; the function returned assigns, and cannot fail for the tensors' sake. */
  prepare(tensors: KeyedTensors, naming: Naming): Promise<() => void | Promise<void>>
}
