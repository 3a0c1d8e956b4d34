import { methods } from '@cudnn-rnn/canonical/rules'
import type { ByteSource } from './byte_source.js'

/**
 * A folder of files that is not one of the system, such as a browser's private file system: {@link directoryStore} and
 * {@link MemoryStore} are such, and a program can bring its own. Names are names of files, without a folder.
 */
export interface FileStore {
  /** Name in messages. */
  readonly name: string
  /** Names of the files, in any order; none if the folder does not exist yet. */
  names(): Promise<readonly string[]>
  /** A file as it is now; undefined if there is none of this name. */
  open(name: string): Promise<ByteSource | undefined>
  /** Replaces a file whole: a reader sees the old bytes or the new ones, and a failure leaves the old ones. */
  write(name: string, parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void>
  /** Resolves also if the file does not exist. */
  remove(name: string): Promise<void>
  /** A folder within; it is created with its first file. */
  folder(name: string): FileStore
  /**
   * Takes the lock `name` of this folder; the programs that share the folder share its locks.
   *
   * @param wait for another owner; else undefined states that there is one.
   */
  lock(name: string, wait: true): Promise<StoreLock>
  lock(name: string, wait: boolean): Promise<StoreLock | undefined>
}

/** A lock of a {@link FileStore}; the end of a program releases it, too. */
export interface StoreLock {
  release(): Promise<void>
}

/** The rule of arguments that are a {@link FileStore}. */
export const FILE_STORE = methods('a FileStore such as directoryStore(handle)', 'names', 'open', 'write', 'remove')

/**
 * @example
 * ```ts
 * import { isFileStore, MemoryStore } from '@cudnn-rnn/rnn/checkpoint'
 *
 * console.log(isFileStore(new MemoryStore()), isFileStore('run/model')) // true false
 * ```
 */
export function isFileStore(value: unknown): value is FileStore {
  return FILE_STORE.find(value, 'store') === undefined
}
