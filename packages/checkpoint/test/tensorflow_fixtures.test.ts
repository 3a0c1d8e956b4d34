import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { littleEndianBytes } from '@cudnn-rnn/checkpoint/files'
import { describe, expect, it } from 'vitest'
import expectedTensors from '../../../fixtures/checkpoints/expected.json'
import readByTensorflow from '../../../fixtures/checkpoints/overwritten_read.json'
import {
  type CheckpointTensor,
  latestCheckpoint,
  type NamedTensor,
  openCheckpoint,
  readCheckpointState,
  writeCheckpoint,
} from '../src/index.js'
import type { TensorData } from '../src/bundle/tensor.js'
import { temporaryDirectory } from './temporary_directory.js'

// Written by real TensorFlow: fixtures/checkpoints/make.py.
const FIXTURES = fileURLToPath(new URL('../../../fixtures/checkpoints', import.meta.url))

interface Expected {
  readonly prefix: string
  readonly tensors: Readonly<Record<string, { dtype: string; shape: number[]; bytes?: string; strings?: string[] }>>
}
const CASES = Object.entries(expectedTensors as unknown as Record<string, Expected>)

const base64 = (data: TensorData) =>
  Array.isArray(data)
    ? data.map((bytes) => Buffer.from(bytes).toString('base64'))
    : Buffer.from(littleEndianBytes(data as Uint8Array)).toString('base64')

describe('openCheckpoint', () => {
  it.each(CASES)("reads TensorFlow's files exactly: %s", async (folder, { prefix, tensors }) => {
    const reader = await openCheckpoint(join(FIXTURES, folder, prefix))
    expect(reader.names()).toEqual(Object.keys(tensors).sort())
    for (const [name, { dtype, shape, bytes, strings }] of Object.entries(tensors)) {
      expect([name, reader.dtype(name), reader.shape(name)]).toEqual([name, dtype, shape])
      expect(base64((await reader.read(name)).data)).toEqual(bytes ?? strings)
    }
    await reader.close()
  })
})

describe('writeCheckpoint', () => {
  it.each(CASES.filter(([folder]) => !/sharded|partitioned|v1/.test(folder)))(
    'writes the very bytes that TensorFlow writes: %s',
    async (folder, { prefix }) => {
      const source = join(FIXTURES, folder, prefix)
      const target = join(await temporaryDirectory(), 'model')
      const reader = await openCheckpoint(source)
      const tensors: NamedTensor[] = []
      for (const name of reader.names()) tensors.push([name, await reader.read(name)])
      await reader.close()
      await writeCheckpoint(target, tensors)
      for (const ending of ['.data-00000-of-00001', '.index']) {
        expect(await readFile(`${target}${ending}`)).toEqual(await readFile(`${source}${ending}`))
      }
    },
  )
})

describe('writeCheckpoint over a checkpoint of the same prefix', () => {
  const folder = join(FIXTURES, 'overwritten')

  it('takes a data file of another name, which TensorFlow read', async () => {
    const target = join(await temporaryDirectory(), 'model')
    const reader = await openCheckpoint(join(folder, 'model'))
    const tensors: NamedTensor[] = []
    for (const name of reader.names()) tensors.push([name, await reader.read(name)])
    await reader.close()
    for (const [name, { dtype, shape, data }] of tensors as [string, CheckpointTensor][]) {
      const { bytes, strings, ...described } = readByTensorflow.tensors[
        name as 'a/kernel'
      ] as Expected['tensors'][string]
      expect({ dtype, shape }).toEqual(described)
      expect(base64(data)).toEqual(bytes ?? strings)
    }
    await writeCheckpoint(target, tensors.slice(1))
    await writeCheckpoint(target, tensors)
    expect((await readdir(dirname(target))).sort()).toEqual(['model.data-00000-of-00002', 'model.index'])
    for (const ending of ['.data-00000-of-00002', '.index']) {
      expect(await readFile(`${target}${ending}`)).toEqual(await readFile(join(folder, `model${ending}`)))
    }
    await writeCheckpoint(target, tensors)
    expect((await readdir(dirname(target))).sort()).toEqual(['model.data-00000-of-00001', 'model.index'])
  })

  it('takes the least number of shards of which no file is there, and leaves none of the others', async () => {
    const directory = await temporaryDirectory()
    await cp(join(FIXTURES, 'sharded'), directory, { recursive: true })
    for (const shards of ['00001', '00003']) await writeFile(join(directory, `model.data-00000-of-${shards}`), 'old')
    await writeFile(join(directory, 'model2.data-00000-of-00001'), 'another')
    await writeCheckpoint(join(directory, 'model'), [['a', { data: Float32Array.of(7), shape: [1] }]])
    expect((await readdir(directory)).filter((name) => name.startsWith('model')).sort()).toEqual([
      'model.data-00000-of-00004',
      'model.index',
      'model2.data-00000-of-00001',
    ])
  })
})

describe('latestCheckpoint', () => {
  it("finds checkpoints of TensorFlow's Saver in a moved directory", async () => {
    const directory = await temporaryDirectory()
    await cp(join(FIXTURES, 'saver'), directory, { recursive: true })
    expect(await latestCheckpoint(directory)).toBe(join(directory, 'model.ckpt-300'))
    const state = await readCheckpointState(directory)
    expect(state?.allModelCheckpointPaths).toEqual(['model.ckpt-20', 'model.ckpt-300'])
  })

  it('finds shards of V1, which are one checkpoint by any of their names and none without each of them', async () => {
    const directory = await temporaryDirectory()
    await cp(join(FIXTURES, 'v1_sharded'), directory, { recursive: true })
    const prefix = join(directory, 'model-?????-of-00002')
    expect(await latestCheckpoint(directory)).toBe(prefix)
    const [one, other] = [join(directory, 'model-00000-of-00002'), join(directory, 'model-00001-of-00002')]
    for (const path of [prefix, one, other]) expect((await openCheckpoint(path)).names()).toEqual(['a', 'b', 'parts'])
    await cp(one, other)
    await expect(openCheckpoint(prefix)).rejects.toThrow(expect.objectContaining({ code: 'ERR_CHECKPOINT_CORRUPT' }))
    await rm(other)
    await expect(openCheckpoint(one)).rejects.toThrow(expect.objectContaining({ code: 'ERR_CHECKPOINT_NOT_FOUND' }))
    expect(await latestCheckpoint(directory)).toBe(null)
  })
})
