import { BYTES, checkArguments, ITERABLE, kind, listOf, madeIn, TEXT } from '@cudnn-rnn/canonical/rules'
import { concatenate } from '@cudnn-rnn/checkpoint/files'
import { type ByteSource, memorySource } from './byte_source.js'
import type { FileStore, StoreLock } from './file_store.js'

const ENTRY = kind(
  'a name and its bytes, [string, Uint8Array]',
  (entry): entry is readonly [string, Uint8Array] =>
    Array.isArray(entry) && typeof entry[0] === 'string' && BYTES.find(entry[1], 'bytes') === undefined,
)

/**
 * Files in memory: a checkpoint that is a download, or one that was uploaded.
 *
 * @example
 * ```ts
 * import { MemoryStore, openCheckpoint, writeCheckpoint } from '@cudnn-rnn/rnn/checkpoint'
 *
 * const store = new MemoryStore()
 * await writeCheckpoint('model', [['bias', { data: Float32Array.of(1, 2), shape: [2] }]], { store })
 * console.log([...store.files.keys()].sort()) // [ 'model.data-00000-of-00001', 'model.index' ]
 * const reader = await openCheckpoint('model', { store })
 * console.log((await reader.read('bias')).data) // Float32Array(2) [ 1, 2 ]
 * ```
 */
export class MemoryStore implements FileStore {
  readonly name: string
  /** Bytes by name: `new Blob([bytes])` makes a download of them. */
  readonly files: Map<string, Uint8Array>
  readonly #folders = new Map<string, MemoryStore>()
  /** The end of the present owner, by lock. */
  readonly #locks = new Map<string, Promise<void>>()

  /** @throws TypeError `ERR_INVALID_ARGUMENT` */
  constructor(files: Iterable<readonly [string, Uint8Array]> = [], name = '(memory)') {
    const { files: given } = checkArguments('make a store', { files, name }, { files: ITERABLE, name: TEXT })
    const { files: entries } = checkArguments('make a store', { files: [...given] }, { files: listOf(ENTRY) })
    this.name = name
    this.files = new Map(entries)
  }

  async names(): Promise<string[]> {
    return [...this.files.keys()]
  }

  async open(name: string): Promise<ByteSource | undefined> {
    const bytes = this.files.get(name)
    return bytes && memorySource(name, bytes)
  }

  async write(name: string, parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
    const copies: Uint8Array[] = []
    for await (const part of parts) copies.push(part.slice())
    this.files.set(name, concatenate(copies))
  }

  async remove(name: string): Promise<void> {
    this.files.delete(name)
  }

  folder(name: string): MemoryStore {
    return madeIn(this.#folders, name, () => new MemoryStore([], `${this.name}/${name}`))
  }

  lock(name: string, wait: true): Promise<StoreLock>
  lock(name: string, wait: boolean): Promise<StoreLock | undefined>
  async lock(name: string, wait: boolean): Promise<StoreLock | undefined> {
    for (let owner = this.#locks.get(name); owner !== undefined; owner = this.#locks.get(name)) {
      if (!wait) return undefined
      await owner
    }
    let release = () => {}
    const ended = new Promise<void>((resolve) => {
      release = resolve
    })
    this.#locks.set(name, ended)
    return {
      release: async () => {
        if (this.#locks.get(name) === ended) this.#locks.delete(name)
        release()
      },
    }
  }
}
