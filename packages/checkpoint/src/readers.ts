/**
 * The part of this package that runs in browsers too: TensorFlow's checkpoints read from any byte source.
 *
 * @example
 * ```ts
 * import { readFile } from 'node:fs/promises'
 * import { memorySource, openCheckpointFrom } from '@cudnn-rnn/checkpoint/readers'
 *
 * // In a browser the bytes come from fetch(), or blobSource(file.name, file) reads a file that was chosen.
 * async function open(path: string) {
 *   const bytes = await readFile(`runs/${path}`).catch(() => undefined)
 *   return bytes && memorySource(path, bytes)
 * }
 * const reader = await openCheckpointFrom('model-100', open).catch((error) => console.log(error.code))
 * ```
 * @packageDocumentation
 */
export { type BlobLike, type ByteSource, blobSource, memorySource, type OpenByteSource } from './byte_source.js'
export type { CheckpointReader } from './checkpoint_reader.js'
export type { CheckpointDType, NumericArray } from './dtype.js'
export { CheckpointError, type CheckpointErrorCode, isCheckpointError } from './errors.js'
export { type OpenCheckpointOptions, openCheckpointFrom } from './open_checkpoint.js'
export type { CheckpointTensor, TensorData } from './tensor.js'
