import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { openCheckpoint, writeCheckpoint } from '../../src/index.js'

const tensor = (...values: number[]) => ({ data: Float32Array.from(values), shape: [values.length] })

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'writer-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

describe('writeCheckpoint', () => {
  it('makes the directory, takes tensors from a stream, and sorts the index', async () => {
    const prefix = join(directory, 'deep/er/model')
    async function* tensors() {
      yield ['z', tensor(1, 2)] as const
      yield ['a', { data: ['x', 'y'], shape: [2] }] as const
      yield ['b', { data: Uint16Array.of(0x3f80), shape: [], dtype: 'bfloat16' as const }] as const
    }
    await writeCheckpoint(prefix, tensors())
    const reader = await openCheckpoint(prefix)
    expect(reader.names()).toEqual(['a', 'b', 'z'])
    expect(reader.dtype('b')).toBe('bfloat16')
    expect([...(await reader.read('z')).data]).toEqual([1, 2])
    expect(reader.byteLength('z')).toBe(8)
    await reader.close()
  })

  it('fails with a coded error when its directory vanishes in the midst of it', async () => {
    const prefix = join(directory, 'gone/model')
    async function* tensors() {
      yield ['a', tensor(1)] as const
      await rm(join(directory, 'gone'), { recursive: true })
      yield ['b', tensor(2)] as const
    }
    await expect(writeCheckpoint(prefix, tensors())).rejects.toThrow(coded('ERR_CHECKPOINT_IO'))
  })

  it.each([
    [
      'two tensors of one name',
      [
        ['a', tensor(1)],
        ['a', tensor(2)],
      ],
    ],
    ['data that does not fill its shape', [['a', { data: new Float32Array(3), shape: [2] }]]],
    ['a negative dimension', [['a', { data: new Float32Array(1), shape: [-1] }]]],
    ['an array that is not of its dtype', [['a', { data: new Float32Array(1), shape: [1], dtype: 'int32' }]]],
    ['an empty name', [['', tensor(1)]]],
    ['texts with a hole', [['a', { data: ['x'].concat(new Array(1)), shape: [2] }]]],
    ['a proxy of an array', [['a', { data: new Proxy(Float32Array.of(1), {}), shape: [1] }]]],
  ])('refuses %s and leaves the checkpoint of before', async (_, tensors) => {
    const prefix = join(directory, 'model')
    await writeCheckpoint(prefix, [['a', tensor(7)]])
    await expect(writeCheckpoint(prefix, tensors as never)).rejects.toThrow(coded('ERR_TENSOR_INVALID'))
    expect((await readdir(directory)).sort()).toEqual(['model.data-00000-of-00001', 'model.index'])
    const reader = await openCheckpoint(prefix)
    expect([...(await reader.read('a')).data]).toEqual([7])
    await reader.close()
  })

  it('leaves nothing behind when the stream of tensors fails', async () => {
    async function* broken() {
      yield ['a', tensor(1)] as const
      throw new Error('the source broke')
    }
    await expect(writeCheckpoint(join(directory, 'model'), broken())).rejects.toThrow('the source broke')
    expect(await readdir(directory)).toEqual([])
  })

  it('reports a directory that cannot be made or written', async () => {
    await writeFile(join(directory, 'file'), '')
    await expect(writeCheckpoint(join(directory, 'file/model'), [])).rejects.toThrow(coded('ERR_CHECKPOINT_IO'))
    await mkdir(join(directory, 'model.index'))
    await expect(writeCheckpoint(join(directory, 'model'), [['a', tensor(1)]])).rejects.toThrow(
      coded('ERR_CHECKPOINT_IO'),
    )
    expect((await readdir(directory)).sort()).toEqual(['file', 'model.index'])
  })

  it('detects a directory that vanished between saves', async () => {
    const prefix = join(directory, 'model')
    await writeCheckpoint(prefix, [['a', tensor(1)]])
    await rm(directory, { recursive: true })
    await writeCheckpoint(prefix, [['a', tensor(2)]])
    expect((await readFile(`${prefix}.data-00000-of-00001`)).readFloatLE(0)).toBe(2)
  })
})
