import { checkArguments, methods } from '@cudnn-rnn/canonical/rules'
import { type BlobLike, type ByteSource, blobSource } from './byte_source.js'
import { type CheckpointError, ioError } from '../errors.js'
import type { FileStore, StoreLock } from './file_store.js'

/** The used members of a browser's `FileSystemDirectoryHandle`. */
export interface DirectoryHandleLike {
  readonly name: string
  getFileHandle(name: string, options?: { readonly create?: boolean }): Promise<FileHandleLike>
  getDirectoryHandle(name: string, options?: { readonly create?: boolean }): Promise<DirectoryHandleLike>
  removeEntry(name: string): Promise<void>
  keys(): AsyncIterable<string>
}

/** The used members of a browser's `FileSystemFileHandle`. */
interface FileHandleLike {
  getFile(): Promise<BlobLike>
  createWritable(): Promise<WritableLike>
}

/** The used members of a browser's `FileSystemWritableFileStream`. */
interface WritableLike {
  /** Bytes of memory that is not shared. */
  write(bytes: Uint8Array & { readonly buffer: ArrayBuffer }): Promise<void>
  close(): Promise<void>
  abort(): Promise<void>
}

const HANDLE = methods('a FileSystemDirectoryHandle', 'getFileHandle', 'getDirectoryHandle', 'removeEntry', 'keys')

/**
 * A directory of a browser as a place for checkpoints: one of the page's private file system
 * (`await navigator.storage.getDirectory()`), or one that the user picked (`await showDirectoryPicker()`). It works in
 * pages and in workers.
 *
 * A file is replaced when its stream is closed, so that saves are atomic. Locks come from `navigator.locks`, by the
 * path of the directory: tabs of one origin exclude each other.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`. Its methods reject with CheckpointError `ERR_CHECKPOINT_IO`.
 * @example
 * ```ts no-run
 * import { directoryStore, writeCheckpoint } from '@cudnn-rnn/rnn/checkpoint'
 *
 * // In a page or a worker: the private file system of the origin.
 * const store = directoryStore(await navigator.storage.getDirectory())
 * await writeCheckpoint('model', [['bias', { data: Float32Array.of(1, 2), shape: [2] }]], { store })
 * console.log(await store.names())
 * ```
 */
export function directoryStore(handle: DirectoryHandleLike): FileStore {
  checkArguments('keep files in a directory', { handle }, { handle: HANDLE })
  return new DirectoryStore(handle.name, () => Promise.resolve(handle))
}

type Opened = (create: boolean) => Promise<DirectoryHandleLike>

class DirectoryStore implements FileStore {
  readonly name: string
  readonly #directory: Opened

  constructor(name: string, directory: Opened) {
    this.name = name
    this.#directory = directory
  }

  async names(): Promise<string[]> {
    return this.#io('read the directory', '', async () => {
      const directory = await present(this.#directory(false))
      const names: string[] = []
      if (directory !== undefined) for await (const name of directory.keys()) names.push(name)
      return names
    })
  }

  async open(name: string): Promise<ByteSource | undefined> {
    return this.#io('read', name, async () => {
      const directory = await present(this.#directory(false))
      const file = directory && (await present(directory.getFileHandle(name).then((found) => found.getFile())))
      return file && blobSource(name, file)
    })
  }

  async write(name: string, parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
    const stream = await this.#io('write', name, async () => {
      const file = await (await this.#directory(true)).getFileHandle(name, { create: true })
      return file.createWritable()
    })
    try {
      // An error of the parts is the caller's own.
      for await (const part of parts) await this.#io('write', name, () => stream.write(unshared(part)))
      await this.#io('write', name, () => stream.close())
    } catch (error) {
      await stream.abort().catch(() => undefined)
      throw error
    }
  }

  async remove(name: string): Promise<void> {
    await this.#io('remove', name, async () => {
      await present((await present(this.#directory(false)))?.removeEntry(name) ?? Promise.resolve())
    })
  }

  folder(name: string): FileStore {
    return new DirectoryStore(`${this.name}/${name}`, async (create) =>
      (await this.#directory(create)).getDirectoryHandle(name, { create }),
    )
  }

  lock(name: string, wait: true): Promise<StoreLock>
  lock(name: string, wait: boolean): Promise<StoreLock | undefined>
  async lock(name: string, wait: boolean): Promise<StoreLock | undefined> {
    const whole = `cudnn-rnn:${await this.#path()}/${name}`
    return new Promise((resolve, reject) => {
      const request = navigator.locks.request(whole, { ifAvailable: !wait }, (lock) => {
        if (lock === null) return resolve(undefined)
        return new Promise<void>((ended) => {
          resolve({
            release: async () => {
              ended()
              // Until then another request would still find the lock taken.
              await request
            },
          })
        })
      })
      request.catch((cause: unknown) => reject(this.#failure('lock', name, cause)))
    })
  }

  /** The path in the private file system of the origin; two picked directories of one name share their locks. */
  async #path(): Promise<string> {
    return this.#io('lock', '', async () => {
      const root = await navigator.storage.getDirectory()
      const handle = (await this.#directory(true)) as FileSystemDirectoryHandle
      const path = await root.resolve(handle).catch(() => null)
      return path === null ? `picked:${this.name}` : path.join('/')
    })
  }

  async #io<Result>(action: string, name: string, run: () => Promise<Result>): Promise<Result> {
    try {
      return await run()
    } catch (cause) {
      throw this.#failure(action, name, cause)
    }
  }

  #failure(action: string, name: string, cause: unknown): CheckpointError {
    const path = name === '' ? this.name : `${this.name}/${name}`
    return ioError(action, path, cause)
  }
}

/** Undefined if a file or a directory does not exist. */
async function present<Found>(found: Promise<Found>): Promise<Found | undefined> {
  try {
    return await found
  } catch (error) {
    if (error instanceof Error && error.name === 'NotFoundError') return undefined
    throw error
  }
}

/** Streams refuse views of shared memory. */
function unshared(bytes: Uint8Array): Uint8Array & { readonly buffer: ArrayBuffer } {
  const { buffer, byteOffset, byteLength } = bytes
  return buffer instanceof ArrayBuffer ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(bytes)
}
