import type { CheckpointDType } from './dtype.js'
import type { CheckpointTensor } from './tensor.js'

/**
 * An open checkpoint. Names, shapes and dtypes come from its index; a tensor's bytes are read when it is. Files on disk
 * are open only during reads and a moment after them: a reader that is never closed holds none open.
 */
export interface CheckpointReader {
  readonly format: 'v1' | 'v2'
  readonly prefix: string
  /** Names of all tensors, ascending bytewise. */
  names(): string[]
  has(name: string): boolean
  /** Throws `ERR_TENSOR_NOT_FOUND`, as do the following. */
  shape(name: string): readonly number[]
  dtype(name: string): CheckpointDType
  /** Bytes the tensor takes in the files. */
  byteLength(name: string): number
  /**
   * Rejects with `ERR_CHECKPOINT_CHECKSUM` or `ERR_CHECKPOINT_CORRUPT` when the bytes differ from the written ones, and with
   * `ERR_CHECKPOINT_REPLACED` when a save replaced or removed the checkpoint since it was opened.
   */
  read(name: string): Promise<CheckpointTensor>
  close(): Promise<void>
  /** `await using reader = await openCheckpoint(prefix)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>
  /**
   * `using reader = await openCheckpoint(prefix)` begins to close it at the end of the block and does not wait. The files were
   * only read, so an error of closing them loses nothing and is not reported.
   */
  [Symbol.dispose](): void
}
