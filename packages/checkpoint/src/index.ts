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

export type { CheckpointReader } from './bundle/checkpoint_reader.js'
export { openCheckpointFrom } from './open_checkpoint.js'
export { openCheckpoint } from './open_checkpoint_file.js'
export { type ByteInput, type ResponseLike, responseSource } from './store/byte_input.js'
export { type BlobLike, type ByteSource, blobSource, memorySource } from './store/byte_source.js'
export { openFileSource } from './store/file_source.js'

// Writing

export type { NamedTensor } from './bundle/bundle_encoder.js'
export { writeCheckpoint } from './save/bundle_writer.js'

// Folders outside the system's files, such as a browser's

export { type DirectoryHandleLike, directoryStore } from './store/directory_store.js'
export { type FileStore, isFileStore, type StoreLock } from './store/file_store.js'
export { MemoryStore } from './store/memory_store.js'

// The state of a directory

export { latestCheckpoint, resolvePath, writeCheckpointState } from './save/checkpoint_directory.js'
export { recoverSaves } from './save/save_recovery.js'
export { readCheckpointState } from './save/state_file.js'
export { FileLock } from './store/file_lock.js'

// Tensors and errors

export { type CheckpointDType, dtypeOfArray, type NumericArray } from './bundle/dtype.js'
export type { CheckpointTensor } from './bundle/tensor.js'
export { CheckpointError } from './errors.js'
