import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { encodeSafetensors } from '../src/files/safetensors_reader.js'
import { importWeights, openWeightFile } from '../src/index.js'
import { fixtureBytes, fixturePath } from './fixture.js'

type Index = Record<string, unknown>

const WHOLE = 'pytorch/tagger.safetensors'
const SHARDS = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'] as const

/** A folder of two shards, which divide the parameters of the encoder; returns the path of the index. */
async function sharded(change: (map: Index) => unknown = (map) => ({ weight_map: map })): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'shards-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await using file = await openWeightFile(fixturePath(WHOLE))
  const halves = [new Map(), new Map()] as const
  for (const [index, { name }] of file.tensors.entries())
    halves[(index % 2) as 0 | 1].set(name, await file.tensor(name))
  for (const k of [0, 1] as const) {
    await writeFile(join(folder, SHARDS[k]), encodeSafetensors(Object.fromEntries(halves[k])))
  }
  const map = Object.fromEntries(halves.flatMap((half, k) => [...half.keys()].map((name) => [name, SHARDS[k]])))
  const path = join(folder, 'model.safetensors.index.json')
  await writeFile(path, JSON.stringify(change(map)))
  return path
}

describe('importWeights of an index of shards', () => {
  it.each([undefined, 'safetensors'] as const)('reads the shards as one file, with the format %s', async (format) => {
    const path = await sharded((map) => ({ metadata: { total_size: 1 }, weight_map: map }))
    const [whole, joined] = [await importWeights(fixturePath(WHOLE)), await importWeights(path, { format })]
    expect(joined.format).toBe('safetensors')
    expect(joined.networks.map(({ canonical }) => canonical)).toEqual(whole.networks.map(({ canonical }) => canonical))
    expect(joined.unusedTensors.map(({ name }) => name).sort()).toEqual(
      whole.unusedTensors.map(({ name }) => name).sort(),
    )
  })

  it.each<[string, (map: Index) => unknown, string, RegExp]>([
    ['lists no tensor', () => ({ weight_map: {} }), 'CORRUPT', /its weight_map has no tensors/],
    [
      'has numbers for files',
      (map) => ({ weight_map: { ...map, extra: 7 } }),
      'CORRUPT',
      /the file of extra must be a name: 7/,
    ],
    [
      'lists a tensor that no shard has',
      (map) => ({ weight_map: { ...map, extra: SHARDS[0] } }),
      'CORRUPT',
      /00001.* has no extra/,
    ],
    [
      'leaves out a tensor',
      (map) => ({ weight_map: { ...map, 'head.bias': [] } }),
      'CORRUPT',
      /it does not list head\.bias/,
    ],
    [
      'has one shard twice',
      (map) => ({ weight_map: { ...map, 'head.bias': [`./${SHARDS[0]}`] } }),
      'CORRUPT',
      /must list each tensor/,
    ],
    [
      'leaves its folder',
      (map) => ({ weight_map: { ...map, x: '../x.safetensors' } }),
      'CORRUPT',
      /must be in its own folder/,
    ],
    [
      'has no shard beside it',
      (map) => ({ weight_map: { ...map, x: 'x.safetensors' } }),
      'NOT_FOUND',
      /x\.safetensors, which has some/,
    ],
    [
      'lists an index',
      (map) => ({ weight_map: { ...map, x: 'model.safetensors.index.json' } }),
      'UNSUPPORTED',
      /is an index, too/,
    ],
    [
      'has too many shards',
      () => ({ weight_map: Object.fromEntries(Array.from({ length: 1025 }, (_, k) => [`t${k}`, `${k}`])) }),
      'UNSUPPORTED',
      /at most 1024 shards/,
    ],
  ])('refuses one that %s', async (_, change, code, message) => {
    await expect(importWeights(await sharded(change))).rejects.toMatchObject({
      code: `ERR_WEIGHTS_${code}`,
      message: expect.stringMatching(message),
    })
  })

  it('refuses one shard of Keras if its index is beside it', async () => {
    const shard = join(await sharded(), '..', 'm_00001.weights.h5')
    await writeFile(shard, fixtureBytes('keras/gru.weights.h5'))
    expect((await importWeights(shard)).networks).toHaveLength(1)
    await writeFile(join(shard, '..', 'm.weights.json'), '{}')
    await expect(importWeights(shard)).rejects.toThrow(/it is a shard, which m\.weights\.json lists/)
  })

  it('refuses a link out of the folder, shards of two formats, and an index given as bytes', async () => {
    const path = await sharded((map) => ({ weight_map: { ...map, x: 'x' } }))
    const beside = join(path, '..', 'x')
    await symlink(fixturePath(WHOLE), beside)
    await expect(importWeights(path)).rejects.toThrow(/must be in its own folder/)
    await rm(beside)
    await writeFile(beside, fixtureBytes('flax/lstm.msgpack'))
    await expect(importWeights(path)).rejects.toThrow(/it does not list/)
    const bytes = new TextEncoder().encode('{"weight_map": {"a": "b"}}')
    await expect(importWeights(bytes)).rejects.toThrow(/given as bytes: some are in b. Give its path/)
  })
})
