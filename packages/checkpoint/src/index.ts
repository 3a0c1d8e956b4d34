/**
 * TensorFlow's checkpoint files: V2 (TensorBundle) read and written, V1 read, and the state file of a directory. This
 * package depends on files only, not on networks.
 *
 * @example
 * ```ts
 * import { mkdtemp } from 'node:fs/promises'
 * import { tmpdir } from 'node:os'
 * import { join } from 'node:path'
 * import { openCheckpoint, writeCheckpoint } from '@cudnn-rnn/rnn'
 *
 * const prefix = join(await mkdtemp(join(tmpdir(), 'example-')), 'model-100')
 * await writeCheckpoint(prefix, [['dense/kernel', { data: new Float32Array(6), shape: [2, 3] }]])
 * const reader = await openCheckpoint(prefix)
 * console.log(reader.names(), reader.shape('dense/kernel')) // [ 'dense/kernel' ] [ 2, 3 ]
 * await reader.close()
 * ```
 * @packageDocumentation
 */

// Reading

export { type ByteInput, type ResponseLike, responseSource } from './byte_input.js'
export { type BlobLike, type ByteSource, blobSource, memorySource } from './byte_source.js'
export type { CheckpointReader } from './checkpoint_reader.js'
export { openFileSource } from './file_source.js'
export { type OpenByteSource, type OpenCheckpointOptions, openCheckpointFrom } from './open_checkpoint.js'
export { type OpenCheckpointFileOptions, openCheckpoint } from './open_checkpoint_file.js'

// Writing

export type { NamedTensor } from './bundle_encoder.js'
export { type WriteCheckpointOptions, writeCheckpoint } from './bundle_writer.js'

// Folders outside the system's files, such as a browser's

export { type DirectoryHandleLike, directoryStore } from './directory_store.js'
export { type FileStore, isFileStore, type StoreLock } from './file_store.js'
export { MemoryStore } from './memory_store.js'

// The state of a directory

export { latestCheckpoint, resolvePath, writeCheckpointState } from './checkpoint_directory.js'
export type { CheckpointState } from './checkpoint_state.js'
export { FileLock, type FileLockOptions } from './file_lock.js'
export type { Retention } from './rotation.js'
export { recoverSaves } from './save_recovery.js'
export { readCheckpointState } from './state_file.js'

// Tensors and errors

export { type CheckpointDType, dtypeOfArray, type NumericArray } from './dtype.js'
export { CheckpointError, type CheckpointErrorCode, isCheckpointError } from './errors.js'
export type { CheckpointTensor, TensorData, WritableTensor } from './tensor.js'
