import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { MemoryStore } from '../../src/index.js'

/** The bytes of a file, through the source that a reader opens. */
async function read(store: MemoryStore, name: string) {
  const source = await store.open(name)
  return source && (await source.read(0, source.size))
}

describe('MemoryStore', () => {
  it('has the files that it is given, under their names', async () => {
    const store = new MemoryStore([['a', Uint8Array.of(1, 2)]], 'upload')
    expect(store.name).toBe('upload')
    expect(await store.names()).toEqual(['a'])
    expect(await read(store, 'a')).toEqual(Uint8Array.of(1, 2))
    expect(await store.open('b')).toBeUndefined()
  })

  it('joins the parts of a file, of which the caller may use the arrays again', async () => {
    const store = new MemoryStore()
    const part = Uint8Array.of(1, 2)
    const parts = async function* () {
      yield part
      part.fill(9)
      yield part
      yield new Uint8Array()
    }
    await store.write('a', parts())
    part.fill(7)
    expect(await read(store, 'a')).toEqual(Uint8Array.of(1, 2, 9, 9))
    await store.write('empty', [])
    expect(await read(store, 'empty')).toEqual(new Uint8Array())
  })

  it('keeps the file of before where its parts fail', async () => {
    const store = new MemoryStore([['a', Uint8Array.of(1)]])
    const parts = function* () {
      yield Uint8Array.of(2)
      throw new Error('no more')
    }
    await expect(store.write('a', parts())).rejects.toThrow('no more')
    expect(await read(store, 'a')).toEqual(Uint8Array.of(1))
  })

  it('leaves the bytes of a source when its file is replaced or removed', async () => {
    const store = new MemoryStore([['a', Uint8Array.of(1, 2)]])
    const source = await store.open('a')
    await store.write('a', [Uint8Array.of(3, 4, 5)])
    expect(await source?.read(0, 2)).toEqual(Uint8Array.of(1, 2))
    await store.remove('a')
    await store.remove('a')
    expect(await source?.read(1, 1)).toEqual(Uint8Array.of(2))
    expect(await store.names()).toEqual([])
  })

  it('keeps folders apart, one of each name', async () => {
    const store = new MemoryStore([], 'run')
    const folder = store.folder('best')
    expect(folder.name).toBe('run/best')
    expect(store.folder('best')).toBe(folder)
    await folder.write('a', [Uint8Array.of(1)])
    expect(await store.names()).toEqual([])
    expect(await store.folder('other').names()).toEqual([])
  })

  it.each<[string, unknown, unknown]>([
    ['a number', 3, undefined],
    ['names without bytes', ['a'], undefined],
    ['bytes that are a list of numbers', [['a', [1, 2]]], undefined],
    ['names that are numbers', [[1, new Uint8Array()]], undefined],
    ['a name that is a number', [], 4],
  ])('refuses %s', (_, files, name) => {
    expect(() => new MemoryStore(files as never, name as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })
})

describe('MemoryStore.lock', () => {
  it('is given to those that wait one after another', async () => {
    const store = new MemoryStore()
    const running: number[] = []
    let most = 0
    const work = async (number: number) => {
      const lock = await store.lock('training', true)
      running.push(number)
      most = Math.max(most, running.length)
      await Promise.resolve()
      running.pop()
      await lock.release()
      return number
    }
    expect(await Promise.all([0, 1, 2, 3].map(work))).toEqual([0, 1, 2, 3])
    expect(most).toBe(1)
  })

  it('does not take the lock of the next owner away where it is released twice', async () => {
    const store = new MemoryStore()
    const first = await store.lock('training', true)
    await first.release()
    const second = await store.lock('training', true)
    await first.release()
    expect(await store.lock('training', false)).toBeUndefined()
    await second.release()
    await (await store.lock('training', true)).release()
  })

  it('is one for each name', async () => {
    const store = new MemoryStore()
    const training = await store.lock('training', true)
    const save = await store.lock('save', false)
    expect(save).toBeDefined()
    await training.release()
    expect(await store.lock('save', false)).toBeUndefined()
    await save?.release()
  })
})
