/**
 * The part of this package that runs in browsers too: TensorFlow's checkpoints read from any byte source.
 *
 * @example
 * ```ts
 * import { readFile } from 'node:fs/promises'
 * import { openCheckpointFrom } from '@cudnn-rnn/checkpoint/readers'
 *
 * // In a browser: (path) => fetch(`runs/${path}`), or the File of this name among those that were chosen.
 * const open = (path: string) => readFile(`runs/${path}`).catch(() => undefined)
 * const reader = await openCheckpointFrom('model-100', open).catch((error) => console.log(error.code))
 * ```
 * @packageDocumentation
 */

export type { CheckpointReader } from './bundle/checkpoint_reader.js'
export type { CheckpointDType, NumericArray } from './bundle/dtype.js'
export type { CheckpointTensor, TensorData } from './bundle/tensor.js'
export { CheckpointError } from './errors.js'
export { type OpenByteSource, type OpenCheckpointOptions, openCheckpointFrom } from './open_checkpoint.js'
export { type ByteInput, type ResponseLike, responseSource } from './store/byte_input.js'
export { type BlobLike, type ByteSource, blobSource, memorySource } from './store/byte_source.js'
