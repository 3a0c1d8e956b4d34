import { afterEach, describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { directoryStore } from '../../src/store/directory_store.js'
import {
  type FileStore,
  latestCheckpoint,
  MemoryStore,
  type NamedTensor,
  openCheckpoint,
  readCheckpointState,
  writeCheckpoint,
} from '../../src/index.js'

/** In Chromium, the private file system of the page; Node.js has memory alone. */
const hasDirectories = typeof navigator !== 'undefined' && navigator.storage?.getDirectory !== undefined

const FOLDER = 'file-store-test'
const stores: [string, () => Promise<FileStore>][] = [['memory', async () => new MemoryStore()]]
if (hasDirectories) {
  stores.push([
    'a directory of the browser',
    async () => {
      const root = await navigator.storage.getDirectory()
      return directoryStore(await root.getDirectoryHandle(FOLDER, { create: true }))
    },
  ])
}

afterEach(async () => {
  if (!hasDirectories) return
  const root = await navigator.storage.getDirectory()
  await root.removeEntry(FOLDER, { recursive: true }).catch(() => undefined)
})

const tensors = (value: number): NamedTensor[] => [
  ['a', { data: Float32Array.of(value, 2), shape: [2] }],
  ['b', { data: BigInt64Array.of(7n), shape: [] }],
]

async function read(store: FileStore, prefix: string): Promise<unknown> {
  const reader = await openCheckpoint(prefix, { store })
  try {
    return (await reader.read('a')).data
  } finally {
    await reader.close()
  }
}

const names = async (store: FileStore) => [...(await store.names())].sort()

describe.each(stores)('writeCheckpoint into %s', (_, open) => {
  it('writes files that openCheckpoint reads', async () => {
    const store = await open()
    await writeCheckpoint('model', tensors(1), { store })
    expect(await names(store)).toEqual(['model.data-00000-of-00001', 'model.index'])
    expect(await read(store, 'model')).toEqual(Float32Array.of(1, 2))
    expect(await latestCheckpoint(store)).toBeNull()
  })

  it('replaces a checkpoint of the same prefix and leaves one data file', async () => {
    const store = await open()
    for (const value of [1, 2, 3]) await writeCheckpoint('model', tensors(value), { store })
    expect(await read(store, 'model')).toEqual(Float32Array.of(3, 2))
    expect(await names(store)).toHaveLength(2)
  })

  it('keeps the newest of a retention and notes them in the state file', async () => {
    const store = await open()
    const retention = { maxToKeep: 2, keepCheckpointEveryNHours: 10_000 }
    for (const step of [1, 2, 3]) await writeCheckpoint(`model-${step}`, tensors(step), { store, retention })
    expect(await latestCheckpoint(store)).toBe('model-3')
    expect((await readCheckpointState(store))?.allModelCheckpointPaths).toEqual(['model-2', 'model-3'])
    expect(await names(store)).toEqual([
      'checkpoint',
      'model-2.data-00000-of-00001',
      'model-2.index',
      'model-3.data-00000-of-00001',
      'model-3.index',
    ])
  })

  it('takes the checkpoints that are there as history where the state file is damaged', async () => {
    const store = await open()
    const retention = { maxToKeep: 2, keepCheckpointEveryNHours: 10_000 }
    for (const step of [9, 10]) await writeCheckpoint(`model-${step}`, tensors(step), { store, retention })
    await store.write('checkpoint', [Uint8Array.of(0xff, 0x00)])
    await writeCheckpoint('model-11', tensors(11), { store, retention })
    expect((await readCheckpointState(store))?.allModelCheckpointPaths).toEqual(['model-10', 'model-11'])
  })

  it('leaves the old checkpoint where the tensors fail', async () => {
    const store = await open()
    await writeCheckpoint('model', tensors(1), { store })
    const before = await names(store)
    function* failing(): Generator<NamedTensor> {
      yield* tensors(5)
      throw new Error('no more')
    }
    await expect(writeCheckpoint('model', failing(), { store })).rejects.toThrow('no more')
    expect(await names(store)).toEqual(before)
    expect(await read(store, 'model')).toEqual(Float32Array.of(1, 2))
  })

  it.each([false, true])(
    'keeps the checkpoint of before where the state file fails, replacing: %s',
    async (isReplacing) => {
      const store = await open()
      const retention = { maxToKeep: 2, keepCheckpointEveryNHours: 10_000 }
      await writeCheckpoint('model-1', tensors(1), { store, retention })
      const before = await names(store)
      const failing: FileStore = {
        name: store.name,
        names: () => store.names(),
        open: (name) => store.open(name),
        write: (name, parts) =>
          name === 'checkpoint' ? Promise.reject(new Error('no space left')) : store.write(name, parts),
        remove: (name) => store.remove(name),
        folder: (name) => store.folder(name),
        lock: (name, wait) => store.lock(name, wait) as never,
      }
      const saved = writeCheckpoint(isReplacing ? 'model-1' : 'model-2', tensors(5), { store: failing, retention })
      await expect(saved).rejects.toThrow('no space left')
      expect(await names(store)).toEqual(before)
      expect(await read(store, 'model-1')).toEqual(Float32Array.of(1, 2))
      expect(await latestCheckpoint(store)).toBe('model-1')
    },
  )

  it('removes the data file of a save that was cut off, with the next save', async () => {
    const store = await open()
    await writeCheckpoint('model', tensors(1), { store })
    await store.write('model.data-00000-of-00002', [Uint8Array.of(1)])
    await writeCheckpoint('model', tensors(2), { store })
    expect(await names(store)).toHaveLength(2)
    expect(await read(store, 'model')).toEqual(Float32Array.of(2, 2))
  })

  it('keeps folders apart, and has none before the first file', async () => {
    const store = await open()
    const inner = store.folder('best')
    expect(await inner.names()).toEqual([])
    expect(await inner.open('model.index')).toBeUndefined()
    await inner.remove('model.index')
    await writeCheckpoint('model', tensors(4), { store: inner })
    expect(await read(store.folder('best'), 'model')).toEqual(Float32Array.of(4, 2))
    await expect(openCheckpoint('model', { store })).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_NOT_FOUND' })
  })

  it('gives a lock to one owner at a time', async () => {
    const store = await open()
    const first = await store.lock('training', true)
    expect(await store.lock('training', false)).toBeUndefined()
    expect(
      await store
        .folder('best')
        .lock('training', false)
        .then((lock) => lock?.release()),
    ).toBeUndefined()
    const order: string[] = []
    const second = store.lock('training', true).then((lock) => {
      order.push('second')
      return lock
    })
    order.push('released')
    await first.release()
    await (await second).release()
    expect(order).toEqual(['released', 'second'])
    const third = await store.lock('training', false)
    expect(third).toBeDefined()
    await third?.release()
  })

  it('refuses a prefix with a folder, and a store of another kind', async () => {
    const store = await open()
    const inFolder = writeCheckpoint('run/model', tensors(1), { store })
    await expect(inFolder).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    expect(await names(store)).toEqual([])
    const other = writeCheckpoint('model', tensors(1), { store: {} as never })
    await expect(other).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION_TYPE' })
  })
})

describe('directoryStore', () => {
  const handle = (refused: 'getFileHandle' | 'createWritable' | 'write') => {
    const fail = async () => {
      throw new DOMException('The quota has been exceeded', 'QuotaExceededError')
    }
    const stream = { write: refused === 'write' ? fail : async () => undefined, close: async () => undefined }
    const file = {
      getFile: async () => new Blob([]),
      createWritable: refused === 'createWritable' ? fail : async () => ({ ...stream, abort: async () => undefined }),
    }
    return {
      name: 'runs',
      getFileHandle: refused === 'getFileHandle' ? fail : async () => file,
      getDirectoryHandle: fail,
      removeEntry: async () => undefined,
      async *keys() {},
    }
  }

  it.each(['getFileHandle', 'createWritable', 'write'] as const)(
    'states which file the browser refuses: %s',
    async (refused) => {
      const writing = directoryStore(handle(refused)).write('model.index', [Uint8Array.of(1)])
      await expect(writing).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_IO', path: 'runs/model.index' })
      await expect(writing).rejects.toThrow('quota')
    },
  )

  it('refuses an object that lacks the methods of a handle', () => {
    expect(() => directoryStore({} as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })
})
